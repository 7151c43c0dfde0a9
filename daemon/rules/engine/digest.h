// 64-bit digest that shows whether facts have changed, and hashes made of it. For use in memory
// only: it may differ between builds. Fingerprints of findings use Mix (product.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/hash.h"
#include "daemon/rules/member.h"

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

struct HashValue {
  std::size_t operator()(const Value& value) const {
    return Digest().Add(value.text).Add(value.number).value();
  }
};

struct HashGroup {
  std::size_t operator()(const Group& group) const {
    const std::uint64_t rail = group.rail ? *group.rail + std::uint64_t{1} : 0;
    return Digest().Add(group.like).Add(rail).Add(group.part).value();
  }
};

}  // namespace fabric::rules
