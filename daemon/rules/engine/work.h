// Limit of the work that one part of an evaluation does, so that the turns of the controller stay
// short. Part of the engine. Counts units instead of time: the engine has no clock. A unit is about
// a microsecond.
#pragma once

#include <cstdint>
#include <limits>

namespace fabric::rules {

inline constexpr std::uint64_t kWorkUnlimited = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kWorkOfFinding = 100;  // To build and store one

class WorkLeft {
 public:
  explicit WorkLeft(std::uint64_t units) : left_(units) {}

  void Spend(std::uint64_t units) { left_ -= units < left_ ? units : left_; }
  bool over() const { return left_ == 0; }

 private:
  std::uint64_t left_;
};

}  // namespace fabric::rules
