// Handlers about the controller, its nodes and their settings.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "daemon/control/findings/silences.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"
#include "daemon/control/node_removal.h"
#include "daemon/control/summaries.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/infer/infer.h"
#include "daemon/snapshot_diff/difference.h"
#include "proto/field_mask.h"
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

Status CreateBackup(const StateTurns& turns, const v1::CreateBackupRequest& request,
                    v1::Backup& backup, Moment now) {
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(store::BufferedStore::BackupRun run,
                   turns.In([&](State& state) { return state.outbox.store().BeginBackup(now); }));
  while (true) {
    ASSIGN_OR_RETURN(const bool done, turns.In([&](State&) { return run.steps->Step(); }));
    if (done) break;
    run.steps->Flush();
  }
  backup = std::move(run.backup);
  std::error_code ignored;
  backup.set_bytes(std::filesystem::file_size(backup.path(), ignored));
  const std::string path = turns.In([&](State& state) {
    state.outbox.store().EndBackup(backup);
    return state.outbox.store().file().path();
  });
  store::BufferedStore::RemoveOldBackups(path);
  return {};
}

Status ListNodes(State& state, const v1::ListNodesRequest&, v1::ListNodesResponse& response,
                 ListTurn& turn) {
  const auto& nodes = state.fleet.nodes();
  auto at = nodes.upper_bound(turn.after());
  for (; at != nodes.end() && turn.HasRoom(); ++at)
    turn.Offer(at->first, state.SummaryOf(at->second), *response.mutable_nodes());
  if (!turn.filtered()) response.set_total_size(static_cast<std::uint32_t>(nodes.size()));
  turn.End(at == nodes.end());
  return {};
}

Status GetNode(State& state, const v1::GetNodeRequest& request, v1::GetNodeResponse& response,
               Moment) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  ASSIGN_OR_RETURN(const FieldMask mask,
                   FieldMask::Parse(request.fields(), *v1::GetNodeResponse::descriptor()));
  const fleet::NodeRecord& record = *state.fleet.Find(request.name());
  *response.mutable_summary() = state.SummaryOf(record);
  *response.mutable_snapshot() = record.snapshot;
  if (record.counters_at) *response.mutable_counters_at() = ToProto(*record.counters_at);
  // Only on request: it takes much longer than the rest.
  if (mask.Find("coverage") != nullptr)
    if (auto coverage = state.evaluator.CoverageOf({record.name}))
      *response.mutable_coverage() = *std::move(coverage);
  mask.Apply(response);
  return {};
}

Status DeleteNode(State& state, const v1::DeleteNodeRequest& request, v1::NodeSummary& removed,
                  Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  const fleet::NodeRecord& record = *state.fleet.Find(request.name());
  if (record.state == v1::NODE_STATE_CONNECTED)
    return {
        Code::kFailedPrecondition,
        Format("node {} is connected: stop its agent first, expected a lost node", record.name)};
  ASSIGN_OR_RETURN(
      removed, RemoveNode(state, request.name(),
                          request.author().empty() ? "" : "removed by " + request.author(), now));
  return {};
}

Status SetNodeLabels(State& state, const v1::SetNodeLabelsRequest& request,
                     v1::NodeSummary& summary, Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  RETURN_IF_ERROR(CheckAuthor(request.author()));
  ASSIGN_OR_RETURN(Labels labels, state.labels.After(request));
  v1::SetNodeLabelsRequest stored;
  stored.set_name(request.name());
  stored.set_author(request.author());
  *stored.mutable_set() = labels;
  RETURN_IF_ERROR(state.outbox.store().Durably(
      [&](store::Store& store) { return store.PutNodeLabels(stored); }));
  state.labels.Set(request.name(), std::move(labels));
  summary = state.SummaryOf(*state.fleet.Find(request.name()));
  state.outbox.Publish(now, [&](v1::Event& event) { *event.mutable_node() = summary; });
  return {};
}

// Key of a port: its node and its position in the order of the node's ports.
struct PortKey {
  std::string node;
  std::size_t position = 0;

  static PortKey Parse(const std::string& text) {
    const std::size_t slash = text.rfind('/');
    if (slash == text.npos) return {};
    const auto position = ParseNumber<std::size_t>(std::string_view(text).substr(slash + 1));
    return {.node = text.substr(0, slash), .position = position.ok() ? *position : 0};
  }
  std::string Text() const { return Format("{}/{}", node, position); }
};

Status CheckConnected(const State& state, const std::string& node) {
  RETURN_IF_ERROR(CheckNode(state, node));
  const fleet::NodeRecord& record = *state.fleet.Find(node);
  if (record.state == v1::NODE_STATE_CONNECTED) return {};
  return {Code::kFailedPrecondition, Format("node {} is lost: {}: its current devices are unknown",
                                            record.name, record.lost_reason)};
}

Status ListDevices(State& state, const v1::ListDevicesRequest& request,
                   v1::ListDevicesResponse& response, ListTurn& turn) {
  constexpr std::uint32_t kCostOfView = 8;  // In summaries of ports
  if (!request.node().empty()) RETURN_IF_ERROR(CheckConnected(state, request.node()));
  const PortKey after = PortKey::Parse(turn.after());
  fleet::ExpectationTable expectations;
  const profile::Profile none;
  const auto& nodes = state.fleet.nodes();
  auto at = request.node().empty() ? nodes.lower_bound(after.node) : nodes.find(request.node());
  const auto end = request.node().empty() ? nodes.end() : std::next(at);
  for (; at != end && turn.HasRoom(); ++at) {
    if (at->second.state != v1::NODE_STATE_CONNECTED) continue;
    const fleet::NodeView view = fleet::ViewOf(at->second, none, expectations);
    turn.AddCost(kCostOfView);
    if (view.ports.empty()) turn.Skip(PortKey{.node = at->first}.Text());
    std::size_t n = at->first == after.node ? after.position : 0;
    for (; n < view.ports.size() && turn.HasRoom(); ++n) {
      v1::DeviceSummary summary = Summarize(view.ports[n]);
      summary.set_leaf(state.sites.Of(view.ports[n]).leaf);
      summary.set_leaf_port(state.sites.LeafPort(view.ports[n]));
      turn.Offer(PortKey{.node = at->first, .position = n + 1}.Text(), std::move(summary),
                 *response.mutable_devices());
    }
    if (n < view.ports.size()) break;
  }
  turn.End(at == end);
  return {};
}

Status GetCounterHistory(State& state, const v1::GetCounterHistoryRequest& request,
                         v1::CounterHistory& response, Moment) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  response = state.fleet.history().Of(request.name());
  std::vector<std::string> known;
  auto& ports = *response.mutable_ports();
  for (const v1::PortCounterHistory& port : ports) known.push_back(port.device());
  const auto is_other = [&](const v1::PortCounterHistory& port) {
    return (!request.device().empty() && port.device() != request.device()) ||
           (request.port() != 0 && port.port() != request.port());
  };
  ports.erase(std::remove_if(ports.begin(), ports.end(), is_other), ports.end());
  if (ports.empty() && !request.device().empty() &&
      std::find(known.begin(), known.end(), request.device()) == known.end() && !known.empty())
    return NoSuch("device", request.device(), known);
  return {};
}

// The first ones stay: settings are before counters.
void BoundDifferences(v1::DiffNodeResponse& response) {
  constexpr int kDifferencesMax = 10'000;
  const int omitted = response.differences_size() - kDifferencesMax;
  if (omitted <= 0) return;
  response.mutable_differences()->DeleteSubrange(kDifferencesMax, omitted);
  response.set_differences_omitted(static_cast<std::uint32_t>(omitted));
}

Status DiffNode(State& state, const v1::DiffNodeRequest& request, v1::DiffNodeResponse& response,
                Moment now) {
  RETURN_IF_ERROR(CheckNode(state, request.name()));
  if ((request.since_seconds() != 0) == !request.other().empty())
    return {Code::kInvalidArgument, Format("expected one of since_seconds and other, saw {}",
                                           request.other().empty() ? "none" : "both")};
  const v1::NodeSnapshot& snapshot = state.fleet.Find(request.name())->snapshot;
  if (request.other().empty()) {
    RETURN_IF_ERROR(state.history.Since(snapshot, request.since_seconds(), now, response));
    BoundDifferences(response);
    return {};
  }
  RETURN_IF_ERROR(CheckNode(state, request.other()));
  response = snapshot_diff::Diff(snapshot, state.fleet.Find(request.other())->snapshot);
  BoundDifferences(response);
  return {};
}

Status InferProfile(const StateTurns& turns, const v1::InferProfileRequest&,
                    v1::InferProfileResponse& response, Moment) {
  constexpr int kDifferingMax = 1'000;
  constexpr int kNodesOfTurn = 32;
  infer::FieldValues values;
  const profile::Profile none;
  fleet::ExpectationTable expectations;
  std::string last;  // Node
  const auto take = [&](const State& state) {
    auto at = state.fleet.nodes().upper_bound(last);
    for (int n = 0; n < kNodesOfTurn && at != state.fleet.nodes().end(); ++n, ++at) {
      last = at->first;
      if (at->second.state == v1::NODE_STATE_CONNECTED)
        values.Add(fleet::ViewOf(at->second, none, expectations));
    }
    return at != state.fleet.nodes().end();
  };
  while (turns.In(take)) {
  }
  response = infer::InferProfile(values);
  for (v1::InferredValue& value : *response.mutable_values()) {
    const int omitted = value.differing_size() - kDifferingMax;
    if (omitted <= 0) continue;
    value.mutable_differing()->DeleteSubrange(kDifferingMax, omitted);
    value.set_differing_omitted(static_cast<std::uint32_t>(omitted));
  }
  return {};
}

constexpr Handler kNodeHandlers[] = {
    kHandler<&GetVersion>,    kList<&ListNodes>,    kHandler<&GetNode>,
    kHandler<&DeleteNode>,    kList<&ListDevices>,  kHandler<&DiffNode>,
    kLong<&InferProfile>,     kLong<&CreateBackup>, kHandler<&GetCounterHistory>,
    kHandler<&SetNodeLabels>,
};

}  // namespace

std::span<const Handler> NodeHandlers() {
  return kNodeHandlers;
}

}  // namespace fabric::control
