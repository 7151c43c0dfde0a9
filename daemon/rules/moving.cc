#include "daemon/rules/moving.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace fabric::rules {

using fleet::kNoCounters;
using fleet::PortView;

std::optional<Move> Moved(const PortView& port, Count count) {
  return port.node->motion.Moved(port.counters, count);
}

std::uint64_t Delta(const PortView& port, Count count) {
  const auto move = Moved(port, count);
  return move ? move->delta : 0;
}

std::optional<Move> MovedOnLink(const PortView& port, Count count, bool hour) {
  fleet::CounterPlaces places = port.counters;
  if (port.port->link_layer() == v1::LINK_LAYER_ETHERNET)
    places = {places[2], kNoCounters, kNoCounters};
  else
    places[2] = kNoCounters;
  const fleet::Motion& motion = port.node->motion;
  return hour ? motion.MovedInHour(places, count) : motion.Moved(places, count);
}

std::uint64_t PerHour(const Move& move) {
  if (move.seconds <= 3600) return move.delta;
  return static_cast<std::uint64_t>(static_cast<double>(move.delta) * 3600 / move.seconds);
}

double PercentOfTime(const Move& move) {
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
