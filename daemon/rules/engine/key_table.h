// Who has a key, by its hash: of each key one. Part of the engine. A flat table, since a large
// fleet has a million of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/rules/engine/roster.h"

namespace fabric::rules {

class KeyTable {
 public:
  // Valid until the table changes; nullptr: nobody.
  Ref* Find(std::uint64_t hash);
  // `hash` must not be there.
  void Add(std::uint64_t hash, const Ref& ref);
  void Remove(std::uint64_t hash);
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    Ref ref = kFree;
  };
  static constexpr Ref kFree = {.node = ~std::uint32_t{0}, .port = 0};

  std::size_t Home(std::uint64_t hash) const { return hash & (slots_.size() - 1); }
  std::size_t Next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  // Where the key is, or would be.
  std::size_t SlotOf(std::uint64_t hash) const;
  void Grow();

  std::vector<Slot> slots_;  // As many as a power of two, at most three fourths of them taken
  std::size_t size_ = 0;
};

}  // namespace fabric::rules
