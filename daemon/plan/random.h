// Portable pseudo-random numbers (SplitMix64): the same on every machine and with every library.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace fabric::plan {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Below(std::uint64_t limit) { return Next() % limit; }

  template <class Value>
  void Shuffle(std::vector<Value>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  std::uint64_t Next() { return SplitMix(std::exchange(state_, state_ + kGoldenRatio)); }

  std::uint64_t state_;
};

}  // namespace fabric::plan
