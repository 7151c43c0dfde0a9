// Stall monitor: measures how long a probe's thread did not run while it had work. On a host that
// is starved of processors, a time-out is not evidence about the fabric.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace fabric::probe {

// The end that was late because its host was starved.
enum class Late : std::uint8_t { kNone, kThisEnd, kPartner };

// Not thread-safe; one per probe thread.
class StallMonitor {
 public:
  // Call at least about every millisecond of work. A longer gap counts as a stall.
  void Working(SteadyTime now) {
    constexpr Duration kUsual = std::chrono::milliseconds(5);
    if (now - last_ > kUsual) stalled_ += now - last_;
    last_ = now;
  }
  // Call after an intended wait.
  void Slept(SteadyTime now) { last_ = now; }

  Duration stalled() const { return stalled_; }

 private:
  SteadyTime last_;
  Duration stalled_{};
};

}  // namespace fabric::probe
