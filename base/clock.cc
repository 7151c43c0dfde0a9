#include "base/clock.h"

namespace fabric {

Moment SystemClock::Now() const {
  return {.steady = std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()),
          .wall = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())};
}

}  // namespace fabric
