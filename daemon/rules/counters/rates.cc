#include "daemon/rules/counters/rates.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace fabric::rules {

using fleet::PortView;

std::uint64_t PerHour(const CounterIncrease& increase) {
  if (increase.seconds <= 3600) return increase.delta;
  return static_cast<std::uint64_t>(static_cast<double>(increase.delta) * 3600 / increase.seconds);
}

double PercentOf(const CounterIncrease& increase, const CounterIncrease& of) {
  return 100 * static_cast<double>(increase.delta) / static_cast<double>(of.delta);
}

double PercentOfTime(const CounterIncrease& increase) {
  return std::min(100.0, static_cast<double>(increase.delta) / (increase.seconds * 1e4));
}

std::string ShowSeconds(double seconds) {
  if (seconds < 600) return Format("{:.0f} s", seconds);
  if (seconds < 7200) return Format("{:.0f} min", seconds / 60);
  return Format("{:.1f} h", seconds / 3600);
}

v1::Evidence ToEvidence(const PortView& port, CounterFinding finding) {
  return ToEvidence(
      *port.node, {.what = fleet::NeutralName(finding.count),
                   .expected = std::move(finding.expected),
                   .seen = std::move(finding.seen),
                   .source = Format(
                       "counters of {} and {}", port.device->name(),
                       port.port->netdev().empty() ? std::string("its port") : port.port->netdev()),
                   .basis = std::move(finding.basis)});
}

void FailOnCounter(const PortView& port, CounterFinding finding, std::vector<v1::Remedy> remedies,
                   Verdicts& out) {
  std::string title = std::move(finding.title);
  out.Fail(port.Subject(), std::move(title), {ToEvidence(port, std::move(finding))},
           std::move(remedies));
}

std::string RdmaStatistic(const PortView& port) {
  return Format("rdma statistic show link {}/{}", port.device->name(), port.port->number());
}

}  // namespace fabric::rules
