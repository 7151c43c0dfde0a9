// A free-running counter of an adapter, as completions carry it.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fabric::host {

// ibv_query_device_ex: completion_timestamp_mask says which bits count, hca_core_clock how fast, in
// kHz. Only differences of one clock mean something.
struct TickClock {
  std::uint64_t mask = 0;
  std::uint64_t kilohertz = 0;

  bool usable() const { return mask != 0 && kilohertz != 0; }

  // Over a wrap, too, when less than half of the counter's range lies between both. Usable alone.
  Duration Elapsed(std::uint64_t from, std::uint64_t to) const {
    const std::uint64_t ahead = (to - from) & mask;
    if (ahead <= mask / 2) return Nanoseconds(ahead);
    return -Nanoseconds((from - to) & mask);
  }

 private:
  Duration Nanoseconds(std::uint64_t ticks) const {
    const std::uint64_t milliseconds = ticks / kilohertz;  // Apart, so that nothing overflows.
    const std::uint64_t rest = ticks % kilohertz * 1'000'000 / kilohertz;
    return std::chrono::milliseconds(milliseconds) + Duration(rest);
  }
};

}  // namespace fabric::host
