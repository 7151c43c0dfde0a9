// Recent counter changes of ports, as evidence for blame.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/fabric.h"
#include "daemon/fleet/fleet.h"

namespace fabric::control {

// Reads counters of the places of a fabric that changed within the last window (rare fault
// counters: within the last hour), some places at a time: a large fabric takes longer than a turn.
// Places whose node leaves in between are absent.
class CounterReader {
 public:
  static constexpr std::uint32_t kPlacesOfTurn = 1024;

  // Reads the next places of the same fabric, at most `places_max`. False: these were the last.
  bool Continue(const fleet::Fleet& fleet, const blame::Fabric& fabric,
                std::uint32_t places_max = kPlacesOfTurn);
  bool done() const { return done_; }
  const std::vector<blame::PortCounters>& counters() const { return counters_; }
  std::vector<blame::PortCounters> Take() { return std::move(counters_); }

 private:
  std::uint32_t next_ = 0;
  bool done_ = false;
  std::vector<blame::PortCounters> counters_;
};

}  // namespace fabric::control
