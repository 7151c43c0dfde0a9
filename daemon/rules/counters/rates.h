// Counter rates of fabric ports for rules: increases within the last window, and findings on them.
// A rule gives no verdict where no window has ended yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

using fleet::Count;
using fleet::CounterIncrease;

// Within the last window; nothing when not known.
inline std::optional<CounterIncrease> IncreaseOf(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.activity.known, count)) return {};
  const fleet::CounterRates& rates = port.node->rates;
  if (fleet::Has(port.activity.grown, count)) return rates.IncreaseOf(port.counters, count);
  return CounterIncrease{.delta = 0, .seconds = rates.seconds()};
}
// The same, 0 when not known: for values that only add to a finding.
inline std::uint64_t Delta(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.activity.grown, count)) return 0;
  return port.node->rates.IncreaseOf(port.counters, count)->delta;
}
// Of the link itself, within the last hour or less; see fleet::PortView::LinkCounterSets().
inline std::optional<CounterIncrease> LinkIncreaseOf(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.link_activity.known, count)) return {};
  const fleet::CounterRates& rates = port.node->rates;
  if (fleet::Has(port.link_activity.grown, count))
    return rates.IncreaseInHour(port.LinkCounterSets(), count);
  return CounterIncrease{.delta = 0, .seconds = rates.seconds_in_hour()};
}

// Increase within an hour: the average when the time is longer.
std::uint64_t PerHour(const CounterIncrease& increase);
// 100 * delta / of.
double PercentOf(const CounterIncrease& increase, const CounterIncrease& of);
// Of a counter of microseconds: percent of the window, at most 100.
double PercentOfTime(const CounterIncrease& increase);
std::string ShowSeconds(double seconds);  // "30 s", "2.5 h"

// A finding on one counter of a port: its title, and evidence "<seen>" against "<expected>".
struct CounterFinding {
  std::string title;
  std::string expected;
  std::string seen;
  Count count = {};
  std::string basis = "rule";
};
v1::Evidence ToEvidence(const fleet::PortView& port, CounterFinding finding);
void FailOnCounter(const fleet::PortView& port, CounterFinding finding,
                   std::vector<v1::Remedy> remedies, Verdicts& out);

// "rdma statistic show link mlx5_0/1": shows the transport counters of the port.
std::string RdmaStatistic(const fleet::PortView& port);

// Calls `judge` for each fabric port of the node that is up and not unused, when rates are known.
template <class JudgePort>
void ForPortsWithRates(const fleet::NodeView& node, JudgePort judge) {
  if (!node.node->rates.known()) return;
  for (const fleet::PortView& port : node.ports)
    if (port.rail && IsUp(port) && !port.expected().unused()) judge(port);
}

}  // namespace fabric::rules
