#include "daemon/rules/counters/moving.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace fabric::rules {

using fleet::PortView;

std::uint64_t PerHour(const CounterIncrease& move) {
  if (move.seconds <= 3600) return move.delta;
  return static_cast<std::uint64_t>(static_cast<double>(move.delta) * 3600 / move.seconds);
}

double PercentOfTime(const CounterIncrease& move) {
  return std::min(100.0, static_cast<double>(move.delta) / (move.seconds * 1e4));
}

std::string ShowSeconds(double seconds) {
  if (seconds < 600) return Format("{:.0f} s", seconds);
  if (seconds < 7200) return Format("{:.0f} min", seconds / 60);
  return Format("{:.1f} h", seconds / 3600);
}

v1::Evidence ToEvidence(const PortView& port, Movement movement) {
  return ToEvidence(
      *port.node, {.what = fleet::NeutralName(movement.count),
                   .expected = std::move(movement.expected),
                   .seen = std::move(movement.seen),
                   .source = Format(
                       "counters of {} and {}", port.device->name(),
                       port.port->netdev().empty() ? std::string("its port") : port.port->netdev()),
                   .basis = std::move(movement.basis)});
}

void FailMoving(const PortView& port, Movement movement, std::vector<v1::Remedy> remedies,
                Verdicts& out) {
  std::string title = std::move(movement.title);
  out.Fail(port.Subject(), std::move(title), {ToEvidence(port, std::move(movement))},
           std::move(remedies));
}

bool IsMoving(const PortView& port) {
  return port.rail && IsUp(port) && !port.expected().unused();
}

}  // namespace fabric::rules
