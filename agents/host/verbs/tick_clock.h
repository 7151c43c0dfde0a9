// Adapter clock: a free-running counter, as in completions.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fabric::host {

// ibv_query_device_ex: completion_timestamp_mask has the valid bits, hca_core_clock the frequency
// in kHz. Only differences are meaningful.
struct TickClock {
  std::uint64_t mask = 0;
  std::uint64_t kilohertz = 0;

  bool usable() const { return mask != 0 && kilohertz != 0; }

  // Handles one wrap, for differences below half of the range. A pure function.
  Duration Elapsed(std::uint64_t from, std::uint64_t to) const {
    const std::uint64_t ahead = (to - from) & mask;
    if (ahead <= mask / 2) return Nanoseconds(ahead);
    return -Nanoseconds((from - to) & mask);
  }

 private:
  Duration Nanoseconds(std::uint64_t ticks) const {
    const std::uint64_t milliseconds = ticks / kilohertz;  // Avoids overflow.
    const std::uint64_t rest = ticks % kilohertz * 1'000'000 / kilohertz;
    return std::chrono::milliseconds(milliseconds) + Duration(rest);
  }
};

}  // namespace fabric::host
