#include "daemon/blame/counters.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr double kOddsMax = 8;
constexpr double kUsualMin = 1.0 / 16;  // A sign is taken to be at no fewer of the good ports.
constexpr std::size_t kTextsMax = 6;

// Of ports that are bad, the part at which the sign is expected, by channel.
constexpr std::array<std::array<double, 3>, kSigns> kExpected = {{
    {0.5, 0.4, 0.2},   // kPhysical: what is repeated also costs time
    {0.3, 0.3, 0.2},   // kDiscards
    {0.3, 0.2, 0.1},   // kRepeats: the partners have it as well
    {0.05, 0.3, 0.3},  // kPauses
}};

}  // namespace

CounterEvidence::CounterEvidence(const Passages& passages, std::span<const PortCounters> counters)
    : passages_(passages) {
  std::array<std::size_t, kSigns> moved = {};
  for (const PortCounters& port : counters) {
    if (port.place >= passages.fabric().places.size()) continue;
    of_place_.emplace(port.place, &port);
    const Signs signs = SignsOf(port.place);
    for (std::size_t sign = 0; sign < kSigns; ++sign) moved[sign] += signs[sign] ? 1 : 0;
  }
  for (std::size_t sign = 0; sign < kSigns; ++sign)
    usual_[sign] =
        std::max(kUsualMin, static_cast<double>(moved[sign]) /
                                static_cast<double>(std::max<std::size_t>(of_place_.size(), 1)));
}

CounterEvidence::Signs CounterEvidence::SignsOf(std::uint32_t place) const {
  Signs signs = {};
  const auto at = of_place_.find(place);
  if (at == of_place_.end()) return signs;
  for (const CounterMove& move : at->second->moves)
    if (move.delta > 0) signs[static_cast<std::size_t>(move.sign)] = true;
  return signs;
}

std::vector<std::uint32_t> CounterEvidence::PlacesOf(const Part& part) const {
  switch (part.kind) {
    case PartKind::kPort: return {part.first};
    case PartKind::kPair: return {part.first, part.second};
    case PartKind::kHost: return passages_.PlacesOfNode(part.first);
    default: return {};
  }
}

// What a host has to do with it shows at more than one of its ports.
double CounterEvidence::LogOdds(const Part& part, Channel channel) const {
  if (of_place_.empty()) return 0;
  if (part.kind != PartKind::kPort && part.kind != PartKind::kHost) return 0;
  const std::size_t ports_min = part.kind == PartKind::kHost ? 2 : 1;
  std::array<std::size_t, kSigns> ports = {};
  for (const std::uint32_t place : PlacesOf(part)) {
    const Signs signs = SignsOf(place);
    for (std::size_t sign = 0; sign < kSigns; ++sign) ports[sign] += signs[sign] ? 1 : 0;
  }
  double odds = 1;
  for (std::size_t sign = 0; sign < kSigns; ++sign)
    if (ports[sign] >= ports_min)
      odds *= std::max(1.0, kExpected[sign][static_cast<std::size_t>(channel)] / usual_[sign]);
  return std::log(std::min(odds, kOddsMax));
}

std::vector<std::string> CounterEvidence::Text(const Part& part) const {
  std::vector<std::string> texts;
  for (const std::uint32_t place : PlacesOf(part)) {
    const auto at = of_place_.find(place);
    if (at == of_place_.end()) continue;
    const std::string whose = part.kind == PartKind::kPort
                                  ? std::string()
                                  : Format("{}: ", NameOf(passages_.fabric().places[place]));
    for (const CounterMove& move : at->second->moves)
      if (move.delta > 0 && texts.size() < kTextsMax)
        texts.push_back(
            Format("{}{} grew by {} in {:.0f} s", whose, move.name, move.delta, move.seconds));
  }
  return texts;
}

}  // namespace fabric::blame
