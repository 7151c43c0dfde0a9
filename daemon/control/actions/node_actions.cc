#include "daemon/control/actions/node_actions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/summaries.h"
#include "proto/node_actions.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr auto kHour = std::chrono::hours(1);
constexpr std::size_t kTextBytesMax = 1000;

Status CheckText(std::string_view field, const std::string& text) {
  if (text.size() <= kTextBytesMax) return {};
  return {Code::kInvalidArgument,
          Format("{}: expected at most {} bytes, saw {}", field, kTextBytesMax, text.size())};
}

// The program may apply it, or has applied it.
bool InForce(v1::NodeActionState state) {
  return IsOpen(state) && state != v1::NODE_ACTION_STATE_PROPOSED;
}

const v1::NodeActionChange& Last(const v1::NodeAction& action) {
  return *action.history().rbegin();
}

v1::NodeActionChange ChangeTo(v1::NodeActionState state, const std::string& author,
                              const std::string& note) {
  v1::NodeActionChange change;
  change.set_state(state);
  change.set_author(author);
  change.set_note(note);
  return change;
}

std::string_view ModeName(Remediation mode) {
  switch (mode) {
    case Remediation::kOff: return "off";
    case Remediation::kApprove: return "approve";
    case Remediation::kAutomatic: return "automatic";
  }
  return {};
}

Status WrongState(const v1::NodeAction& action, std::string_view expected) {
  return {Code::kFailedPrecondition, Format("action {}: expected state {}, saw {}", action.id(),
                                            expected, Name(action.state()))};
}

// What a person ended: a rejection, or a request to undo it.
const v1::NodeActionChange* EndedByPerson(const v1::NodeAction& action) {
  if (IsOpen(action.state())) return nullptr;
  for (const v1::NodeActionChange& change : action.history())
    if (change.state() == v1::NODE_ACTION_STATE_REJECTED ||
        change.state() == v1::NODE_ACTION_STATE_REVERTING)
      return &change;
  return nullptr;
}

}  // namespace

void NodeActions::Restore(std::vector<v1::NodeAction> stored) {
  for (v1::NodeAction& action : stored) {
    const auto number = ParseNumber<Number>(
        std::string_view(action.id()).substr(std::min<std::size_t>(1, action.id().size())));
    if (!number.ok() || action.history().empty()) continue;
    next_ = std::max(next_, *number + 1);
    actions_[*number] = std::move(action);
  }
}

Result<v1::NodeAction> NodeActions::Propose(const v1::ProposeNodeActionRequest& wanted,
                                            std::size_t nodes, Moment now) {
  now_ = now.wall;
  if (wanted.kind() == v1::NODE_ACTION_KIND_UNSPECIFIED ||
      !v1::NodeActionKind_IsValid(wanted.kind()))
    return Status(Code::kInvalidArgument,
                  Format("kind: expected NODE_ACTION_KIND_SLURM_DRAIN or _KUBERNETES_TAINT, saw {}",
                         static_cast<int>(wanted.kind())));
  RETURN_IF_ERROR(CheckWords("reason", wanted.reason()));
  RETURN_IF_ERROR(CheckText("evidence", wanted.evidence()));
  RETURN_IF_ERROR(CheckAuthor(wanted.author()));
  if (options_.mode == Remediation::kOff)
    return Status(Code::kFailedPrecondition,
                  "actions are off: expected the setting remediation: approve or automatic");
  std::size_t open = 0;
  for (const auto& [number, action] : actions_) {
    if (!IsOpen(action.state())) continue;
    if (action.kind() == wanted.kind() && action.node() == wanted.node()) return action;
    ++open;
  }
  if (open >= kOpenMax)
    return Status(Code::kResourceExhausted,
                  Format("there are {} open actions, which is the maximum", open));
  v1::NodeAction action;
  action.set_id(Format("a{}", next_));
  action.set_kind(wanted.kind());
  action.set_node(wanted.node());
  action.set_reason(wanted.reason());
  action.set_evidence(wanted.evidence());
  RETURN_IF_ERROR(CheckHold(action, now.wall));
  std::vector<v1::NodeActionChange> changes = {
      ChangeTo(v1::NODE_ACTION_STATE_PROPOSED, wanted.author(), "")};
  if (options_.mode == Remediation::kAutomatic) {
    RETURN_IF_ERROR(CheckLimits(nodes));
    changes.push_back(
        ChangeTo(v1::NODE_ACTION_STATE_APPROVED, "", "setting remediation: automatic"));
  }
  ASSIGN_OR_RETURN(action, Put(next_, std::move(action), std::move(changes), now));
  ++next_;
  RemoveOldest();
  return action;
}

Result<v1::NodeAction> NodeActions::Approve(const v1::ApproveNodeActionRequest& request,
                                            std::size_t nodes, Moment now) {
  now_ = now.wall;
  RETURN_IF_ERROR(RequireAuthor(request.author()));
  RETURN_IF_ERROR(CheckText("note", request.note()));
  ASSIGN_OR_RETURN(const Number number, Find(request.id()));
  const v1::NodeAction& action = actions_.at(number);
  if (options_.mode == Remediation::kOff)
    return Status(Code::kFailedPrecondition,
                  "actions are off: expected the setting remediation: approve or automatic");
  if (action.state() != v1::NODE_ACTION_STATE_PROPOSED) return WrongState(action, "proposed");
  if (action.history(0).author() == request.author())
    return Status(Code::kPermissionDenied,
                  Format("action {}: {} proposed it; expected the approval of another identity",
                         action.id(), Quoted(request.author())));
  RETURN_IF_ERROR(CheckLimits(nodes));
  return Put(number, action,
             {ChangeTo(v1::NODE_ACTION_STATE_APPROVED, request.author(), request.note())}, now);
}

Result<v1::NodeAction> NodeActions::Revert(const v1::RevertNodeActionRequest& request, Moment now) {
  RETURN_IF_ERROR(RequireAuthor(request.author()));
  RETURN_IF_ERROR(CheckText("note", request.note()));
  ASSIGN_OR_RETURN(const Number number, Find(request.id()));
  const v1::NodeAction& action = actions_.at(number);
  if (action.state() == v1::NODE_ACTION_STATE_REVERTING) return action;
  if (!IsOpen(action.state())) return WrongState(action, "proposed, approved or applied");
  // The program may be applying an approved one now: it has to look.
  const bool before = action.state() == v1::NODE_ACTION_STATE_PROPOSED;
  return Put(number, action,
             {ChangeTo(before ? v1::NODE_ACTION_STATE_REJECTED : v1::NODE_ACTION_STATE_REVERTING,
                       request.author(), request.note())},
             now);
}

Result<v1::NodeAction> NodeActions::Report(const v1::ReportNodeActionRequest& request, Moment now) {
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  RETURN_IF_ERROR(CheckText("note", request.note()));
  ASSIGN_OR_RETURN(const Number number, Find(request.id()));
  const v1::NodeAction& action = actions_.at(number);
  const v1::NodeActionState reported = request.state();
  if (reported != v1::NODE_ACTION_STATE_APPLIED && reported != v1::NODE_ACTION_STATE_REVERTED &&
      reported != v1::NODE_ACTION_STATE_FAILED)
    return Status(Code::kInvalidArgument, Format("state: expected applied, reverted or failed, "
                                                 "saw {}",
                                                 Name(reported)));
  if (action.state() == reported) return action;
  // A report that crosses with a request to undo: the request stays.
  if (reported == v1::NODE_ACTION_STATE_APPLIED &&
      action.state() == v1::NODE_ACTION_STATE_REVERTING)
    return action;
  if (reported == v1::NODE_ACTION_STATE_REVERTED) {
    if (action.state() != v1::NODE_ACTION_STATE_APPLIED &&
        action.state() != v1::NODE_ACTION_STATE_REVERTING)
      return WrongState(action, "applied or reverting");
  } else if (action.state() != v1::NODE_ACTION_STATE_APPROVED) {
    return WrongState(action, "approved");
  }
  return Put(number, action, {ChangeTo(reported, request.author(), request.note())}, now);
}

void NodeActions::EndOfNode(const std::string& node, const std::string& reason, Moment now) {
  now_ = now.wall;
  std::vector<Number> open;
  for (const auto& [number, action] : actions_)
    if (action.node() == node && IsOpen(action.state())) open.push_back(number);
  for (const Number number : open)
    Expire(number, reason.empty() ? "the node was removed" : "the node was removed: " + reason,
           now);
}

void NodeActions::Tick(const std::function<bool(const std::string& node)>& known, Moment now) {
  now_ = now.wall;
  if (!first_tick_) first_tick_ = now.steady;
  const bool complete = now.steady - *first_tick_ >= kUnknownMax;
  std::vector<std::pair<Number, std::string>> late;
  for (const auto& [number, action] : actions_) {
    const Duration age = now.wall - FromProto(Last(action).at());
    if (action.state() == v1::NODE_ACTION_STATE_PROPOSED && age >= kProposedMax)
      late.emplace_back(number, "not approved in 24 hours");
    else if (action.state() == v1::NODE_ACTION_STATE_APPROVED && age >= kApprovedMax)
      late.emplace_back(number, "not applied in 1 hour after its approval");
    else if (complete && IsOpen(action.state()) && !known(action.node()))
      late.emplace_back(number, "fabricd does not know the node");
  }
  for (const auto& [number, why] : late) Expire(number, why, now);
}

std::vector<v1::NodeAction> NodeActions::All() const {
  std::vector<v1::NodeAction> all;
  for (const auto& [number, action] : actions_) all.push_back(action);
  return all;
}

v1::NodeActionLimits NodeActions::Limits(std::size_t nodes) const {
  v1::NodeActionLimits limits;
  limits.set_mode(std::string(ModeName(options_.mode)));
  limits.set_per_hour_max(options_.per_hour);
  limits.set_nodes_max(static_cast<std::uint32_t>(nodes * options_.nodes_percent / 100));
  std::map<std::string, int> in_force;
  std::uint32_t recent = 0;
  for (const auto& [number, action] : actions_) {
    if (InForce(action.state())) ++in_force[action.node()];
    for (const v1::NodeActionChange& change : action.history())
      recent +=
          change.state() == v1::NODE_ACTION_STATE_APPROVED && now_ - FromProto(change.at()) < kHour;
  }
  limits.set_last_hour(recent);
  limits.set_nodes(static_cast<std::uint32_t>(in_force.size()));
  return limits;
}

Result<NodeActions::Number> NodeActions::Find(const std::string& id) const {
  std::vector<std::string> ids;
  for (const auto& [number, action] : actions_) {
    if (action.id() == id) return number;
    ids.push_back(action.id());
  }
  return NoSuch("action", id, ids);
}

// What cannot be stored now is tried at the next Tick.
void NodeActions::Expire(Number number, const std::string& why, Moment now) {
  const v1::NodeAction& action = actions_.at(number);
  const bool undo = action.state() == v1::NODE_ACTION_STATE_APPLIED ||
                    action.state() == v1::NODE_ACTION_STATE_REVERTING;
  const std::string note = undo ? why + "; it was applied and not undone" : why;
  (void)Put(number, action, {ChangeTo(v1::NODE_ACTION_STATE_EXPIRED, "", note)}, now);
}

Status NodeActions::CheckLimits(std::size_t nodes) const {
  const v1::NodeActionLimits limits = Limits(nodes);
  if (limits.last_hour() >= limits.per_hour_max())
    return {Code::kResourceExhausted,
            Format("limit: {} actions were approved in the last hour (remediation-per-hour: {})",
                   limits.last_hour(), limits.per_hour_max())};
  if (limits.nodes() >= limits.nodes_max())
    return {
        Code::kResourceExhausted,
        Format("limit: {} of {} nodes have an action (remediation-percent: {}, which is {})",
               limits.nodes(), nodes, options_.nodes_percent, Plural(limits.nodes_max(), "node"))};
  return {};
}

Status NodeActions::CheckHold(const v1::NodeAction& wanted, WallTime now) const {
  for (const auto& [number, action] : actions_) {
    if (action.kind() != wanted.kind() || action.node() != wanted.node()) continue;
    const v1::NodeActionChange* const ended = EndedByPerson(action);
    if (ended == nullptr || now - FromProto(ended->at()) >= kHold) continue;
    return {Code::kFailedPrecondition,
            Format("{} ended action {} of node {} at {}: expected a new proposal after 24 hours",
                   ended->author(), action.id(), Quoted(action.node()), ToString(ended->at()))};
  }
  return {};
}

Result<v1::NodeAction> NodeActions::Put(Number number, v1::NodeAction action,
                                        std::vector<v1::NodeActionChange> changes, Moment now) {
  for (v1::NodeActionChange& change : changes) {
    *change.mutable_at() = ToProto(now.wall);
    action.set_state(change.state());
    *action.add_history() = std::move(change);
  }
  RETURN_IF_ERROR(
      outbox_.store().Durably([&](store::Store& store) { return store.PutNodeAction(action); }));
  outbox_.Publish(now, [&](v1::Event& event) { *event.mutable_node_action() = action; });
  return actions_[number] = std::move(action);
}

void NodeActions::RemoveOldest() {
  std::vector<Number> ended;
  for (const auto& [number, action] : actions_)
    if (!IsOpen(action.state())) ended.push_back(number);
  for (std::size_t at = 0; at + kEndedMax < ended.size(); ++at) {
    const std::string id = actions_.at(ended[at]).id();
    // What cannot be removed now is removed after the next proposal.
    if (!outbox_.store()
             .Durably([&](store::Store& store) { return store.DeleteNodeAction(id); })
             .ok())
      return;
    actions_.erase(ended[at]);
  }
}

}  // namespace fabric::control
