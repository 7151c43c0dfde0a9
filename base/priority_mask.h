// Set of IEEE 802.1p priorities, 0 to 7: the PFC enabled mask of struct ieee_pfc (pfc_en) and sets
// like it.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <string>

namespace fabric {

class PriorityMask {
 public:
  static constexpr std::uint32_t kPriorities = 8;

  constexpr PriorityMask() = default;
  // Bit p is priority p. Ignores the bits above 7.
  explicit constexpr PriorityMask(std::uint64_t bits) : bits_(static_cast<std::uint8_t>(bits)) {}

  // The priorities of a list of numbers. Ignores those above 7.
  template <class List>
  static constexpr PriorityMask FromList(const List& priorities) {
    PriorityMask mask;
    for (const auto priority : priorities) mask.Add(static_cast<std::uint32_t>(priority));
    return mask;
  }

  constexpr void Add(std::uint32_t priority) {
    if (priority < kPriorities) bits_ = static_cast<std::uint8_t>(bits_ | 1U << priority);
  }
  constexpr bool Has(std::uint32_t priority) const {
    return priority < kPriorities && (bits_ >> priority & 1U) != 0;
  }
  // The priorities that are not in `other`.
  constexpr PriorityMask Without(PriorityMask other) const {
    return PriorityMask(static_cast<std::uint64_t>(bits_ & ~other.bits_));
  }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr int count() const { return std::popcount(bits_); }
  // The lowest priority; kPriorities when empty.
  constexpr std::uint32_t lowest() const {
    return static_cast<std::uint32_t>(std::countr_zero(bits_));
  }
  constexpr std::uint8_t bits() const { return bits_; }

  friend constexpr auto operator<=>(PriorityMask, PriorityMask) = default;

 private:
  std::uint8_t bits_ = 0;
};

// "3", "3,4", "none".
std::string ToText(PriorityMask mask);

}  // namespace fabric
