// What is worth staying awake for, each thing until its time: a thread that slept would see it
// late, and with software's time stamps that would count as the network's time. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"

namespace fabric::mesh {

// So long at most. It is what a round trip and waking its sender up take where the kernel moves the
// packets (soft RoCE). In an emulated machine they take longer, and the processor that spins is the
// one that an emulator needs for moving them: spinning for 5 ms made round trips longer there.
inline constexpr Duration kAwakeMax = std::chrono::microseconds(300);

class Vigil {
 public:
  void Begin(std::uint64_t what, SteadyTime until) { until_[what] = until; }
  void End(std::uint64_t what) { until_.erase(what); }

  bool GoesOn(SteadyTime now) {
    std::erase_if(until_, [now](const auto& one) { return one.second <= now; });
    return !until_.empty();
  }

 private:
  std::map<std::uint64_t, SteadyTime> until_;
};

}  // namespace fabric::mesh
