#include "daemon/control/campaigns/port_counters.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace fabric::control {
namespace {

using blame::Sign;
using fleet::Count;

struct Watched {
  Count count;
  Sign sign;
  bool in_hour = false;
};

constexpr Watched kWatched[] = {
    {Count::kSymbolErrors, Sign::kPhysical, true},
    {Count::kFcsErrors, Sign::kPhysical, true},
    {Count::kIntegrityErrors, Sign::kPhysical, true},
    {Count::kReceiveErrors, Sign::kPhysical, true},
    {Count::kLinkRecoveries, Sign::kPhysical, true},
    {Count::kLinkDowns, Sign::kPhysical, true},
    {Count::kPcieReceiveErrors, Sign::kPhysical, true},
    {Count::kPcieTransmitErrors, Sign::kPhysical, true},
    {Count::kIcrcErrors, Sign::kPhysical},
    {Count::kBufferOverruns, Sign::kDiscards, true},
    {Count::kReceiveDiscards, Sign::kDiscards},
    {Count::kTransmitDiscards, Sign::kDiscards},
    {Count::kOutOfBuffer, Sign::kDiscards},
    {Count::kOutOfSequence, Sign::kRepeats},
    {Count::kSequenceNaksReceived, Sign::kRepeats},
    {Count::kAckTimeouts, Sign::kRepeats},
    {Count::kRetriesExceeded, Sign::kRepeats},
    {Count::kPauseSentUs, Sign::kPauses},
};
constexpr unsigned kPriorities = 8;

const v1::Port* Find(const v1::RdmaDevice& device, std::uint32_t number) {
  for (const v1::Port& port : device.ports())
    if (port.number() == number) return &port;
  return nullptr;
}

std::optional<fleet::CounterSetIndexes> CountersOf(const v1::NodeSnapshot& snapshot,
                                                   const blame::Endpoint& place) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    if (device.name() != place.device) continue;
    const v1::Port* const port = Find(device, place.port);
    if (port != nullptr) return fleet::CounterSetsOf(snapshot, device, *port);
  }
  return std::nullopt;
}

std::vector<blame::CounterIncrease> IncreasesOf(const fleet::CounterRates& rates,
                                                const fleet::CounterSetIndexes& places) {
  std::vector<blame::CounterIncrease> increases;
  const auto add = [&](const std::optional<fleet::CounterIncrease>& increase, Count count,
                       Sign sign) {
    if (increase && increase->delta > 0)
      increases.push_back({sign, fleet::NeutralName(count), increase->delta, increase->seconds});
  };
  for (const Watched& watched : kWatched)
    add(watched.in_hour ? rates.IncreaseInHour(places, watched.count)
                        : rates.IncreaseOf(places, watched.count),
        watched.count, watched.sign);
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    const Count count = fleet::OfPriority(Count::kPriorityPfcSentUs, priority);
    add(rates.IncreaseOf(places, count), count, Sign::kPauses);
  }
  return increases;
}

}  // namespace

bool CounterReader::Continue(const fleet::Fleet& fleet, const blame::Fabric& fabric,
                             std::uint32_t places_max) {
  const auto places = static_cast<std::uint32_t>(fabric.endpoints.size());
  const std::uint32_t end = next_ + std::min(places - next_, places_max);
  const fleet::NodeRecord* node = nullptr;
  for (std::uint32_t first = next_; next_ < end; ++next_) {
    const blame::Endpoint& place = fabric.endpoints[next_];
    if (next_ == first || place.node != fabric.endpoints[next_ - 1].node)
      node = fleet.Find(place.node);
    if (node == nullptr || !node->known() || !node->rates.known()) continue;
    if (const auto sets = CountersOf(node->snapshot, place))
      counters_.push_back({next_, IncreasesOf(node->rates, *sets)});
  }
  done_ = next_ == places;
  return !done_;
}

}  // namespace fabric::control
