// The part of the controller that reads the stored state.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/control/controller.h"
#include "daemon/control/state.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// After a restart, how long rules wait for the known nodes, for each of them and at most. Agents
// spread their dials by the size of the fleet.
constexpr Duration kAwaitNode = 12ms;
constexpr Duration kAwaitMax = 2min;

}  // namespace

// Their number is bounded as that of connected ones.
Status Controller::LoadNodes(Moment now) {
  ASSIGN_OR_RETURN(std::vector<store::StoredNode> nodes, state_->outbox.store().file().Nodes());
  std::set<std::string> names;
  for (auto& [snapshot, memory] : nodes) {
    if (!CheckRoom(snapshot.node().name()).ok()) break;
    ClearInvalidTimestamps(snapshot);
    fleet::NodeRecord record;
    record.name = snapshot.node().name();
    record.state = v1::NODE_STATE_LOST;
    record.state_since = now;
    record.reported_at = {now.steady, FromProto(snapshot.taken_at())};
    record.inspected_at = record.reported_at;
    record.lost_reason = "no message since the controller started";
    record.snapshot = std::move(snapshot);
    names.insert(record.name);
    state_->history.SetKnown(record.name, now);
    state_->fleet.Restore(std::move(record), memory);
  }
  const Duration patience = std::max(
      state_->options.lost_after,
      std::min<Duration>(kAwaitNode * static_cast<Duration::rep>(names.size()), kAwaitMax));
  state_->evaluator.Await(std::move(names), now.steady + patience);
  return {};
}

// A follower has no session and judges nothing: it only has to know which nodes there are.
Status Controller::LoadNodeNames(Moment now) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, state_->outbox.store().file().NodeNames());
  for (const std::string& name : names) {
    if (!CheckRoom(name).ok()) break;
    fleet::NodeRecord record;
    record.name = name;
    record.state = v1::NODE_STATE_LOST;
    record.state_since = now;
    record.lost_reason = "another controller leads";
    record.snapshot.mutable_node()->set_name(name);
    state_->fleet.Restore(std::move(record), {});
  }
  return {};
}

Status Controller::Load(Moment now, Restoring restoring) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kLoad);
  store::Store& store = state_->outbox.store().file();
  ASSIGN_OR_RETURN(std::vector<v1::Finding> findings, store.OpenFindings());
  ASSIGN_OR_RETURN(std::vector<v1::Silence> silences, store.Silences());
  ASSIGN_OR_RETURN(const std::vector<v1::Campaign> campaigns,
                   store.Campaigns(Campaigns::kKnownMax));
  ASSIGN_OR_RETURN(std::vector<v1::GetCertificateResponse> certificates,
                   store.Certificates(Certificates::kKeptMax));
  ASSIGN_OR_RETURN(const std::vector<v1::ScheduleRecord> schedules, store.Schedules());
  ASSIGN_OR_RETURN(std::vector<v1::NodeAction> node_actions, store.NodeActions());
  ASSIGN_OR_RETURN(std::vector<v1::SubnetHistory> subnet_histories, store.SubnetHistories());
  ASSIGN_OR_RETURN(const auto labels, store.NodeLabels());
  RETURN_IF_ERROR(restoring == Restoring::kToLead ? LoadNodes(now) : LoadNodeNames(now));
  state_->labels.Restore(labels);
  state_->located.Restore(findings);
  state_->findings.Restore(std::move(findings), std::move(silences), now, restoring);
  state_->subnet_histories.Restore(std::move(subnet_histories));
  state_->campaigns.Restore(campaigns, now, restoring);
  state_->schedules.Restore(schedules, now, restoring);
  state_->node_actions.Restore(std::move(node_actions));
  UpdateNumbers(now);
  state_->certificates.Restore(std::move(certificates), now, restoring);
  return {};
}

}  // namespace fabric::control
