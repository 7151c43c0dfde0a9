#include "daemon/blame/counters.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr double kOddsMax = 8;
constexpr double kBackgroundMin = 1.0 / 16;  // Lower bound of a class's background rate
constexpr std::size_t kTextsMax = 6;

// Probability that counters of the class increase at a bad port, by channel.
constexpr std::array<std::array<double, 3>, kSigns> kExpected = {{
    {0.5, 0.4, 0.2},   // kPhysical: retransmissions also cost time
    {0.3, 0.3, 0.2},   // kDiscards
    {0.3, 0.2, 0.1},   // kRepeats: also increase at the partners
    {0.05, 0.3, 0.3},  // kPauses
}};

}  // namespace

CounterEvidence::CounterEvidence(const ObservationPaths& paths,
                                 std::span<const PortCounters> counters)
    : paths_(paths) {
  std::array<std::size_t, kSigns> grown = {};
  for (const PortCounters& port : counters) {
    if (port.endpoint >= paths.fabric().endpoints.size()) continue;
    of_endpoint_.emplace(port.endpoint, &port);
    const Signs signs = SignsOf(port.endpoint);
    for (std::size_t sign = 0; sign < kSigns; ++sign) grown[sign] += signs[sign] ? 1 : 0;
  }
  for (std::size_t sign = 0; sign < kSigns; ++sign)
    background_[sign] = std::max(
        kBackgroundMin, static_cast<double>(grown[sign]) /
                            static_cast<double>(std::max<std::size_t>(of_endpoint_.size(), 1)));
}

CounterEvidence::Signs CounterEvidence::SignsOf(std::uint32_t endpoint) const {
  Signs signs = {};
  const auto at = of_endpoint_.find(endpoint);
  if (at == of_endpoint_.end()) return signs;
  for (const CounterIncrease& increase : at->second->increases)
    if (increase.delta > 0) signs[static_cast<std::size_t>(increase.sign)] = true;
  return signs;
}

std::vector<std::uint32_t> CounterEvidence::EndpointsOf(const Component& component) const {
  switch (component.kind) {
    case ComponentKind::kPort: return {component.first};
    case ComponentKind::kPair: return {component.first, component.second};
    case ComponentKind::kHost: return paths_.EndpointsOfNode(component.first);
    default: return {};
  }
}

// A host fault shows at two of its ports or more.
double CounterEvidence::LogOdds(const Component& component, Channel channel) const {
  if (of_endpoint_.empty()) return 0;
  if (component.kind != ComponentKind::kPort && component.kind != ComponentKind::kHost) return 0;
  const std::size_t ports_min = component.kind == ComponentKind::kHost ? 2 : 1;
  std::array<std::size_t, kSigns> ports = {};
  for (const std::uint32_t endpoint : EndpointsOf(component)) {
    const Signs signs = SignsOf(endpoint);
    for (std::size_t sign = 0; sign < kSigns; ++sign) ports[sign] += signs[sign] ? 1 : 0;
  }
  double odds = 1;
  for (std::size_t sign = 0; sign < kSigns; ++sign)
    if (ports[sign] >= ports_min)
      odds *= std::max(1.0, kExpected[sign][static_cast<std::size_t>(channel)] / background_[sign]);
  return std::log(std::min(odds, kOddsMax));
}

std::vector<std::string> CounterEvidence::Text(const Component& component) const {
  std::vector<std::string> texts;
  for (const std::uint32_t endpoint : EndpointsOf(component)) {
    const auto at = of_endpoint_.find(endpoint);
    if (at == of_endpoint_.end()) continue;
    const std::string whose = component.kind == ComponentKind::kPort
                                  ? std::string()
                                  : Format("{}: ", NameOf(paths_.fabric().endpoints[endpoint]));
    for (const CounterIncrease& increase : at->second->increases)
      if (increase.delta > 0 && texts.size() < kTextsMax)
        texts.push_back(Format("{}{} grew by {} in {:.0f} s", whose, increase.name, increase.delta,
                               increase.seconds));
  }
  return texts;
}

}  // namespace fabric::blame
