// Numbers about the fleet, from the state of the controller.
#include "base/version.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/rule_infos.h"
#include "daemon/control/state.h"
#include "daemon/control/summaries.h"
#include "proto/affected.h"
#include "proto/timestamps.h"

namespace fabric::control {

FleetNumbers FirstNumbers(const ControllerOptions& options, Moment started) {
  FleetNumbers numbers;
  numbers.version = std::string(kVersion);
  numbers.started_at_seconds = ToProto(started.wall).seconds();
  for (const v1::RuleInfo& info : RuleInfos(options))
    numbers.findings_open[{info.id(), info.severity()}];
  return numbers;
}

FleetNumbers OtherNumbers(State& state) {
  FleetNumbers numbers;
  numbers.verdicts = state.findings.counts();
  state.campaigns.AddTo(numbers);
  numbers.mesh = state.mesh.numbers();
  const fleet::InfinibandTopology& topology = state.sites.infiniband();
  numbers.infiniband.known = !topology.empty();
  numbers.infiniband.made_at_seconds =
      std::chrono::duration<double>(topology.made_at().time_since_epoch()).count();
  numbers.subnets = state.Subnets();
  const store::Condition store = state.outbox.store().condition();
  numbers.store_failures = store.failed;
  numbers.store_failure = store.failure.message();
  numbers.store_pending = store.pending;
  numbers.store_dropped = store.dropped;
  numbers.store_damaged_rows = store.damage.rows;
  return numbers;
}

std::vector<v1::SubnetInfo> State::Subnets() const {
  std::vector<v1::SubnetInfo> all = subnets.All();
  for (const subnet::FileSubnet& file : subnet_files) all.push_back(file.info);
  return all;
}

v1::NodeSummary State::SummaryOf(const fleet::NodeRecord& record) const {
  v1::NodeSummary summary = Summarize(record, findings.FailingOn(record.name));
  *summary.mutable_labels() = labels.Of(record.name);
  return summary;
}

// Its cost does not depend on the size of the fleet.
fleet::TopologyCoverage State::CoverOf(const fleet::NodeRecord& record) {
  if (sites.infiniband().empty() || record.state != v1::NODE_STATE_CONNECTED) return {};
  fleet::ExpectationTable expectations;
  const profile::Profile none;
  return sites.Cover(fleet::ViewOf(record, none, expectations));
}

}  // namespace fabric::control
