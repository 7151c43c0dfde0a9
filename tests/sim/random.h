// Random numbers that are the same on every machine and with every library: a failing run is its
// seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace fabric::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(SplitMix(seed)) {}

  std::uint64_t Next() { return SplitMix(state_ += kGoldenRatio); }
  std::size_t Below(std::size_t limit) { return static_cast<std::size_t>(Next() % limit); }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)
  bool Chance(double probability) { return Unit() < probability; }
  double Between(double low, double high) { return low + (high - low) * Unit(); }
  double LogBetween(double low, double high) {
    return std::exp(Between(std::log(low), std::log(high)));
  }
  double Normal() {
    return std::sqrt(-2 * std::log(1 - Unit())) * std::cos(6.283185307179586 * Unit());
  }
  // Of `attempts`, those that happen: from one to the next by the geometric distribution.
  std::uint32_t Binomial(std::uint32_t attempts, double probability) {
    if (probability <= 0) return 0;
    if (probability >= 1) return attempts;
    std::uint32_t count = 0;
    const double each = std::log1p(-probability);
    for (double at = std::floor(std::log(1 - Unit()) / each); at < attempts;
         at += 1 + std::floor(std::log(1 - Unit()) / each))
      ++count;
    return count;
  }

 private:
  std::uint64_t state_;
};

}  // namespace fabric::sim
