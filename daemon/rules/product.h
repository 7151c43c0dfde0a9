// Groups of nodes and ports by product.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash_ = (hash_ ^ 0xffU) * 0x100000001b3U;
    return *this;
  }
  Mix& Add(std::uint64_t number) {
    hash_ = (hash_ ^ number) * 0x100000001b3U;
    hash_ ^= hash_ >> 32;
    return *this;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace fabric::rules
