// Sessions of agents: who may have a session, and agents that exceed their bounds.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "daemon/control/controller.h"
#include "daemon/control/state.h"
#include "daemon/control/summaries.h"
#include "proto/bounds.h"

namespace fabric::control {
namespace {

constexpr Duration kReplacementsWithin = std::chrono::seconds(30);

}  // namespace

Status Controller::OnHello(SessionId id, const v1::Hello& hello, Moment now) {
  const std::string& node = hello.node().name();
  RETURN_IF_ERROR(CheckNodeName(node));
  RETURN_IF_ERROR(CheckRoom(node));
  std::uint64_t replaced = 0;
  SteadyTime replaced_since = now.steady;
  if (const Session* const older = state_->sessions.OfNode(node)) {
    if (const Status claim = CheckClaim(*older, hello, now); !claim.ok()) {
      if (state_->fleet.AddClaim(node, hello.node().machine_id(), now))
        state_->evaluator.MarkChanged(node);
      return claim;
    }
    if (!older->silent) replaced = 1;
    if (!older->silent && now.steady - older->replaced_since < kReplacementsWithin) {
      replaced += older->replaced;
      replaced_since = older->replaced_since;
    }
    const SessionId old = older->id;
    agents_.Close(old,
                  Status(Code::kCancelled, Format("replaced by a newer session of node {}", node)));
    state_->sessions.Remove(old);
    state_->campaigns.OnLost(node, "agent reconnected", now);
    state_->mesh.OnLost(node, now);
  }
  Session& session = state_->sessions.Add(id, hello, now);
  session.replaced = replaced;
  session.replaced_since = replaced_since;
  v1::ControllerMessage message;
  v1::Welcome& welcome = *message.mutable_welcome();
  welcome.set_controller_version(std::string(kVersion));
  welcome.set_heartbeat_interval_ms(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(state_->options.heartbeat_interval)
          .count()));
  welcome.set_message_bytes_max(Limit("agent_message_bytes"));
  state_->sessions.Send(id, message);
  return {};
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

}  // namespace fabric::control
