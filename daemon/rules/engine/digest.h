// Tells by one number whether what was read is as before. For use in memory alone: another build
// may find other numbers. What ends up in fingerprints is made by Mix (product.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/hash.h"

namespace fabric::rules {

class Digest {
 public:
  Digest& Add(std::string_view text) { return Add(std::hash<std::string_view>()(text)); }
  Digest& Add(std::uint64_t number) {
    value_ = (value_ ^ number) * kGoldenRatio;
    value_ ^= value_ >> 32;
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = kFnvOffset;
};

}  // namespace fabric::rules
