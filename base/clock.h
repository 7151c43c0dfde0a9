// Clocks and instants. State machines get a Moment as a parameter; only main.cc and loops use
// Clock.
#pragma once

#include <chrono>

namespace fabric {

using Duration = std::chrono::nanoseconds;
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::sys_time<Duration>;

// One instant on both clocks. Intervals and timeouts use `steady`, which never jumps; displayed
// or stored uses `wall`.
struct Moment {
  SteadyTime steady;
  WallTime wall;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // Safe to call from any thread.
  virtual Moment Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Moment Now() const override;
};

}  // namespace fabric
