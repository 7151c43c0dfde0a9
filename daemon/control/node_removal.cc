#include "daemon/control/node_removal.h"

#include <chrono>
#include <vector>

#include "base/text.h"
#include "daemon/control/summaries.h"
#include "proto/timestamps.h"

namespace fabric::control {

Result<v1::NodeSummary> RemoveNode(State& state, const std::string& name, const std::string& reason,
                                   Moment now) {
  RETURN_IF_ERROR(
      state.outbox.store().Durably([&](store::Store& store) { return store.DeleteNode(name); }));
  v1::NodeSummary removed = state.SummaryOf(*state.fleet.Find(name));
  removed.set_state(v1::NODE_STATE_REMOVED);
  *removed.mutable_state_since() = ToProto(now.wall);
  if (!reason.empty()) removed.set_lost_reason(reason);
  state.history.Forget(name);
  state.labels.Remove(name);
  state.evaluator.OnRemoved(name);
  state.located.OnRemoved(name);
  state.fleet.Remove(name);
  // A silent session starts again with a complete snapshot.
  for (auto& [id, session] : state.sessions.all())
    if (session.node.name() == name) session.reported = session.snapshot_requested = false;
  state.mesh.OnRemoved(name, now);
  state.outbox.Publish(now, [&](v1::Event& event) { *event.mutable_node() = removed; });
  state.node_actions.EndOfNode(name, reason, now);
  return removed;
}

void RemoveExpired(State& state, Moment now) {
  const Duration most = state.options.node_expiry;
  if (most <= Duration::zero()) return;
  std::vector<std::string> expired;
  for (const auto& [name, record] : state.fleet.nodes())
    if (record.state == v1::NODE_STATE_LOST && now.steady - record.state_since.steady >= most &&
        expired.size() < kExpiredOfTurn)
      expired.push_back(name);
  for (const std::string& name : expired)
    (void)RemoveNode(state, name,
                     Format("expired: lost for more than {} h",
                            std::chrono::duration_cast<std::chrono::hours>(most).count()),
                     now);
}

}  // namespace fabric::control
