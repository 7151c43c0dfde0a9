// Handlers about the controller, its nodes and their settings.
#include "base/text.h"
#include "base/version.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/summaries.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/infer/infer.h"
#include "daemon/snapshot_diff/difference.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

v1::StoreStatus StatusOf(store::BufferedStore& store) {
  const store::Condition condition = store.condition();
  v1::StoreStatus status;
  status.set_failure(condition.failure.message());
  if (condition.since) *status.mutable_failing_since() = ToProto(*condition.since);
  status.set_pending_writes(condition.pending);
  status.set_dropped_writes(condition.dropped);
  status.set_failed_writes(condition.failed);
  status.set_damaged_rows(condition.damage.rows);
  status.set_damaged_file(condition.damage.file);
  status.set_recovered_rows(condition.damage.recovered);
  status.set_file_bytes(store.file().bytes());
  if (store.last_backup()) *status.mutable_last_backup() = *store.last_backup();
  return status;
}

Status GetVersion(State& state, const v1::GetVersionRequest&, v1::GetVersionResponse& response,
                  Moment) {
  response.set_version(std::string(kVersion));
  *response.mutable_started_at() = ToProto(state.started.wall);
  *response.mutable_store() = StatusOf(state.outbox.store());
  return {};
}

Status CreateBackup(State& state, const v1::CreateBackupRequest& request, v1::Backup& backup,
                    Moment now) {
  if (!request.author().empty()) RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(backup, state.outbox.store().Backup(now));
  return {};
}

Status ListNodes(State& state, const v1::ListNodesRequest&, v1::ListNodesResponse& response,
                 Moment) {
  for (const auto& [name, record] : state.fleet.nodes())
    *response.add_nodes() = Summarize(record, state.findings.FailingOn(name));
  return {};
}

Status GetNode(State& state, const v1::GetNodeRequest& request, v1::GetNodeResponse& response,
               Moment) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  const fleet::NodeRecord& record = *state.fleet.Find(request.name());
  *response.mutable_summary() = Summarize(record, state.findings.FailingOn(record.name));
  *response.mutable_snapshot() = record.snapshot;
  if (auto coverage = state.evaluator.CoverageOf({record.name}))
    *response.mutable_coverage() = *std::move(coverage);
  return {};
}

Status DeleteNode(State& state, const v1::DeleteNodeRequest& request, v1::NodeSummary& removed,
                  Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  if (!request.author().empty()) RETURN_IF_ERROR(CheckAuthor(request.author()));
  const fleet::NodeRecord& record = *state.fleet.Find(request.name());
  if (record.state == v1::NODE_STATE_CONNECTED)
    return {
        Code::kFailedPrecondition,
        Format("node {} is connected: stop its agent first, expected a lost node", record.name)};
  RETURN_IF_ERROR(state.outbox.store().Durably(
      [&](store::Store& store) { return store.DeleteNode(request.name()); }));
  removed = Summarize(record, state.findings.FailingOn(record.name));
  removed.set_state(v1::NODE_STATE_REMOVED);
  *removed.mutable_state_since() = ToProto(now.wall);
  if (!request.author().empty()) removed.set_lost_reason("removed by " + request.author());
  state.history.Forget(record.name);
  state.evaluator.OnRemoved(record.name);
  state.located.OnRemoved(record.name);
  state.fleet.Remove(request.name());
  // A silent session starts again with a complete snapshot.
  for (auto& [id, session] : state.sessions.all())
    if (session.node.name() == request.name())
      session.reported = session.snapshot_requested = false;
  state.cover.reset();
  state.mesh.OnFleetChange(now);
  state.outbox.Publish(now, [&](v1::Event& event) { *event.mutable_node() = removed; });
  return {};
}

Status ListDevices(State& state, const v1::ListDevicesRequest& request,
                   v1::ListDevicesResponse& response, Moment) {
  if (!request.node().empty()) {
    RETURN_IF_ERROR(CheckNode(state, request.node()));
    const fleet::NodeRecord& record = *state.fleet.Find(request.node());
    if (record.state != v1::NODE_STATE_CONNECTED)
      return {Code::kFailedPrecondition,
              Format("node {} is lost: {}: its current devices are unknown", record.name,
                     record.lost_reason)};
  }
  const fleet::FleetView view(state.fleet);
  for (const fleet::NodeView& node : view.nodes())
    if (request.node().empty() || node.node->name == request.node())
      for (const fleet::PortView& port : node.ports) *response.add_devices() = Summarize(port);
  return {};
}

Status DiffNode(State& state, const v1::DiffNodeRequest& request, v1::DiffNodeResponse& response,
                Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  if ((request.since_seconds() != 0) == !request.other().empty())
    return {Code::kInvalidArgument, Format("expected one of since_seconds and other, saw {}",
                                           request.other().empty() ? "none" : "both")};
  const v1::NodeSnapshot& snapshot = state.fleet.Find(request.name())->snapshot;
  if (request.other().empty())
    return state.history.Since(snapshot, request.since_seconds(), now, response);
  RETURN_IF_ERROR(CheckNode(state, request.other()));
  response = snapshot_diff::Diff(snapshot, state.fleet.Find(request.other())->snapshot);
  return {};
}

Status InferProfile(State& state, const v1::InferProfileRequest&,
                    v1::InferProfileResponse& response, Moment) {
  response = infer::InferProfile(fleet::FleetView(state.fleet));
  return {};
}

constexpr Handler kNodeHandlers[] = {
    kHandler<&GetVersion>,  kHandler<&ListNodes>, kHandler<&GetNode>,      kHandler<&DeleteNode>,
    kHandler<&ListDevices>, kHandler<&DiffNode>,  kHandler<&InferProfile>, kHandler<&CreateBackup>,
};

}  // namespace

std::span<const Handler> NodeHandlers() {
  return kNodeHandlers;
}

}  // namespace fabric::control
