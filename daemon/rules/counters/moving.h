// Rules on counters in motion: ports of which a window is known, and how findings of rates read.
// Where nothing has moved long enough there is no verdict at all.
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

// Within the last window; nothing when it is not known.
inline std::optional<CounterIncrease> Moved(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.activity.known, count)) return {};
  const fleet::CounterRates& rates = port.node->rates;
  if (fleet::Has(port.activity.grown, count)) return rates.IncreaseOf(port.counters, count);
  return CounterIncrease{.delta = 0, .seconds = rates.seconds()};
}
// The same, 0 when it is not known: for what only adds to a finding.
inline std::uint64_t Delta(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.activity.grown, count)) return 0;
  return port.node->rates.IncreaseOf(port.counters, count)->delta;
}
// Of the link itself, within the last hour or less; see fleet::PortView::LinkCounterSets().
inline std::optional<CounterIncrease> MovedOnLink(const fleet::PortView& port, Count count) {
  if (!fleet::Has(port.link_activity.known, count)) return {};
  const fleet::CounterRates& rates = port.node->rates;
  if (fleet::Has(port.link_activity.grown, count))
    return rates.IncreaseInHour(port.LinkCounterSets(), count);
  return CounterIncrease{.delta = 0, .seconds = rates.seconds_in_hour()};
}
// Of a longer time than an hour: that of an average hour.
std::uint64_t PerHour(const CounterIncrease& move);

// Percent of the window, 100 at most; of microseconds.
double PercentOfTime(const CounterIncrease& move);
std::string ShowSeconds(double seconds);  // "30 s", "2.5 h"

// A finding of one counter on a port: "<title>"; evidence "<seen>" against "<expected>".
struct Movement {
  std::string title;
  std::string expected;
  std::string seen;
  Count count = {};
  std::string basis = "rule";
};
v1::Evidence ToEvidence(const fleet::PortView& port, Movement movement);
void FailMoving(const fleet::PortView& port, Movement movement, std::vector<v1::Remedy> remedies,
                Verdicts& out);

// A fabric port that is up, not unused, and of which a window has passed.
bool IsMoving(const fleet::PortView& port);

template <class JudgePort>
void ForMoving(const fleet::NodeView& node, JudgePort judge) {
  if (!node.node->rates.known()) return;
  for (const fleet::PortView& port : node.ports)
    if (IsMoving(port)) judge(port);
}

}  // namespace fabric::rules
