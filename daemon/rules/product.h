// Groups of nodes and ports by product.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "daemon/rules/member.h"

namespace fabric::rules {

// No value for machines with an unknown product.
std::optional<Group> ByKnownProduct(const Member& node);
std::optional<Group> ByRailOfKnownProduct(const Member& port);

// FNV-1a hash of how the cards of a machine are arranged. Stable across builds: fingerprints of
// findings contain it.
class Mix {
 public:
  Mix& Add(std::string_view text) {
    hash_ = FnvStep(Fnv(text, hash_), 0xff);
    return *this;
  }
  Mix& Add(std::uint64_t number) {
    hash_ = FnvStep(hash_, number);
    hash_ ^= hash_ >> 32;
    return *this;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = kFnvOffset;
};

}  // namespace fabric::rules
