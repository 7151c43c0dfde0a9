// Numbers about the fleet, from the state of the controller.
#include "base/version.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/rule_infos.h"
#include "daemon/control/state.h"
#include "proto/affected.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// One cause is one alert: findings that another one explains do not count.
bool CountsAsOpen(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.explained_by().empty();
}

void AddFindings(const State& state, FleetNumbers& numbers) {
  for (const v1::RuleInfo& info : RuleInfos(state))
    numbers.findings_open[{info.id(), info.severity()}];
  for (const auto& [id, finding] : state.findings.open()) {
    if (!CountsAsOpen(finding)) continue;
    if (finding.has_silenced()) {
      ++numbers.findings_silenced[finding.severity()];
      continue;
    }
    ++numbers.findings_open[{finding.rule(), finding.severity()}];
    for (const std::string& node : NodesOf(finding))
      if (const auto at = numbers.nodes.find(node); at != numbers.nodes.end())
        ++at->second.findings[finding.severity()];
  }
  numbers.verdicts = state.findings.counts();
}

}  // namespace

FleetNumbers NumbersOf(State& state) {
  FleetNumbers numbers;
  numbers.version = std::string(kVersion);
  numbers.started_at_seconds = ToProto(state.started.wall).seconds();
  for (const auto& [name, record] : state.fleet.nodes()) {
    const bool connected = record.state == v1::NODE_STATE_CONNECTED;
    numbers.nodes[name].connected = connected;
    if (!connected) continue;
    for (const v1::RdmaDevice& device : record.snapshot.rdma_devices())
      for (const v1::Port& port : device.ports()) ++numbers.ports[port.state()];
  }
  AddFindings(state, numbers);
  state.campaigns.AddTo(numbers);
  numbers.mesh = state.mesh.numbers();
  const store::Condition store = state.outbox.store().condition();
  numbers.store_failures = store.failed;
  numbers.store_failure = store.failure.message();
  return numbers;
}

}  // namespace fabric::control
