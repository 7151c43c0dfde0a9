// Whether a probe's thread ran at all while it had work: a machine that is starved of processors
// does nothing for long, and what was not done in time then says nothing of the fabric.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace fabric::probe {

// Whose host it was, of the two ends.
enum class Late : std::uint8_t { kNobody, kThisEnd, kPartner };

// One thread.
class Attendance {
 public:
  // All loops of a probe ask at least every millisecond or so of work whether they have to end.
  void Asked(SteadyTime now) {
    constexpr Duration kUsual = std::chrono::milliseconds(5);
    if (now - asked_ > kUsual) away_ += now - asked_;
    asked_ = now;
  }
  // What was before was no work, but waiting on purpose.
  void Slept(SteadyTime now) { asked_ = now; }

  Duration away() const { return away_; }

 private:
  SteadyTime asked_;
  Duration away_{};
};

}  // namespace fabric::probe
