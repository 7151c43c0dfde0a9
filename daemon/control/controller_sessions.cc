// Sessions of agents: who may have a session, and agents that exceed their bounds.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "daemon/control/controller.h"
#include "daemon/control/state.h"
#include "daemon/control/summaries.h"
#include "proto/bounds.h"
#include "proto/settings_digest.h"

namespace fabric::control {
namespace {

constexpr Duration kReplacementsWithin = std::chrono::seconds(30);
constexpr std::uint32_t kProtocolVersion = 2;
// Agents that lose the controller dial again within this time for each node, and at most. A TLS
// handshake takes about 1 ms of each end.
constexpr std::uint64_t kSpreadMsOfNode = 3;
constexpr std::uint64_t kSpreadMsMax = 30'000;
// What is refused now is refused again, until a person does something.
constexpr std::uint32_t kRetryRefusedMs = 60'000;

}  // namespace

Status Controller::OnHello(SessionId id, const v1::Hello& hello, Moment now) {
  const std::string& node = hello.node().name();
  RETURN_IF_ERROR(CheckNodeName(node));
  if (const Status room = CheckRoom(node); !room.ok()) return Refuse(id, room);
  std::uint64_t replaced = 0;
  SteadyTime replaced_since = now.steady;
  if (const Session* const older = state_->sessions.OfNode(node)) {
    if (const Status claim = CheckClaim(*older, hello, now); !claim.ok()) {
      if (state_->fleet.AddClaim(node, hello.node().machine_id(), now))
        state_->evaluator.MarkChanged(node);
      return Refuse(id, claim);
    }
    if (!older->silent) replaced = 1;
    if (!older->silent && now.steady - older->replaced_since < kReplacementsWithin) {
      replaced += older->replaced;
      replaced_since = older->replaced_since;
    }
    const SessionId old = older->id;
    agents_.Close(old,
                  Status(Code::kCancelled, Format("replaced by a newer session of node {}", node)));
    state_->sessions.Remove(old, now);
    state_->campaigns.OnLost(node, "agent reconnected", now);
    state_->mesh.OnLost(node, now);
    state_->subnets.OnLost(node);
  }
  Session& session = state_->sessions.Add(id, hello, now);
  session.replaced = replaced;
  session.replaced_since = replaced_since;
  session.lost_check_at = now.steady + state_->options.lost_after;
  state_->sessions.WakeAt(id, session.lost_check_at);
  v1::ControllerMessage message;
  *message.mutable_welcome() = Greet(session, hello, now);
  state_->sessions.Send(id, message);
  return {};
}

// An agent whose settings are known sends what has changed. Others send a complete snapshot, at
// once or when they are asked.
v1::Welcome Controller::Greet(Session& session, const v1::Hello& hello, Moment now) {
  v1::Welcome welcome;
  welcome.set_controller_version(std::string(kVersion));
  welcome.set_protocol_version(kProtocolVersion);
  welcome.set_heartbeat_interval_ms(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(state_->options.heartbeat_interval)
          .count()));
  welcome.set_message_bytes_max(Limit("agent_message_bytes"));
  welcome.set_reconnect_spread_ms(static_cast<std::uint32_t>(
      std::min(kSpreadMsMax, kSpreadMsOfNode * state_->fleet.nodes().size())));
  const fleet::NodeRecord* const record = state_->fleet.Find(session.node.name());
  if (hello.has_settings_digest() && record != nullptr && record->snapshot.has_taken_at() &&
      SettingsDigest(record->snapshot) == hello.settings_digest()) {
    session.reported = true;
    state_->fleet.ForgetCounters(record->name);
    state_->evaluator.MarkChanged(record->name);
    welcome.set_settings_known(true);
  } else if (!state_->sessions.Invite(session, now)) {
    welcome.set_wait_for_request(true);
  }
  return welcome;
}

// Also when the agent should come again.
Status Controller::Refuse(SessionId id, Status status) {
  v1::ControllerMessage message;
  message.mutable_retry_later()->set_after_ms(kRetryRefusedMs);
  state_->sessions.Send(id, message);
  return status;
}

// Names are not proven: a second agent with the name of a connected node is a mistake or an attack,
// unless it is the same machine after its connection broke.
Status Controller::CheckClaim(const Session& older, const v1::Hello& hello, Moment now) {
  if (older.silent) return {};
  const std::string& node = older.node.name();
  const std::string& theirs = older.node.machine_id();
  const std::string& ours = hello.node().machine_id();
  if (theirs != ours || ours.empty())
    return {Code::kAlreadyExists,
            Format("node {} is connected from another machine: machine id {}, this one has {}",
                   node, Quoted(theirs), Quoted(ours))};
  if (now.steady - older.replaced_since >= kReplacementsWithin) return {};
  if (older.replaced < Limit("replacements_per_30_s")) return {};
  return {Code::kAlreadyExists,
          Format("{}; two machines have the name {} and the machine id {}",
                 ToStatus({.bound = &BoundOf("replacements_per_30_s"), .seen = older.replaced + 1})
                     .message(),
                 node, Quoted(ours))};
}

Status Controller::CheckRoom(const std::string& node) {
  const std::size_t nodes = state_->fleet.nodes().size();
  const std::uint64_t most =
      state_->options.nodes_max != 0 ? state_->options.nodes_max : Limit("nodes");
  if (nodes < most || state_->fleet.Find(node) != nullptr) return {};
  return {Code::kResourceExhausted,
          Format("nodes: expected at most {} nodes, saw {}", most, nodes + 1)};
}

Status Controller::OnExcess(SessionId id, const Excess& excess, Moment now) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kExcess);
  const Status status = ToStatus(excess);
  numbers_.CountRefused(excess.bound->name);
  const Session* const session = state_->sessions.Find(id);
  if (session == nullptr) return status;  // Before Hello
  const std::string node = session->node.name();
  if (!CheckRoom(node).ok()) return status.In(node);
  if (state_->fleet.AddViolation(node, excess, "refused: " + status.message(), now))
    state_->evaluator.MarkChanged(node);
  return status.In(node);
}

void Controller::Lose(const std::string& node, const std::string& reason, Moment now) {
  const fleet::NodeRecord* const record = state_->fleet.Find(node);
  if (record != nullptr && record->state == v1::NODE_STATE_CONNECTED) {
    state_->fleet.MarkLost(node, reason, now);
    PublishNode(node, now);
    state_->evaluator.MarkChanged(node);
  }
  state_->campaigns.OnLost(node, reason, now);
  state_->mesh.OnLost(node, now);
  state_->subnets.OnLost(node);
}

}  // namespace fabric::control
