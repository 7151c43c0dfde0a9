// Counter tracker: totals from register readings, with wraps, resets and saturation. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace fabric::counters {

// Properties of a register.
struct Register {
  std::uint32_t width_bits = 64;  // 1 to 64
  bool stops = false;             // At its maximum, like InfiniBand PortCounters; others wrap
  std::uint64_t factor = 1;       // Units in one count
};

// One reading of a register.
struct Reading {
  std::uint64_t raw = 0;
  bool there = false;
};

// One counter since it was first read.
struct Total {
  std::uint64_t value = 0;   // In units. Continues over wraps; restarts at a reset.
  std::uint64_t raw = 0;     // The last reading
  std::uint64_t recent = 0;  // About the largest recent step, in counts
  std::uint32_t resets = 0;  // Number of resets
  bool saturated = false;    // At its maximum
  bool known = false;        // Has been read
};

// Adds readings of registers that share resets: those of one port and source. All three spans have
// the same size. A total without a reading is unchanged.
//
// A register that has decreased has wrapped when the step over its maximum is not larger than its
// recent steps or 1/4096 of its range; otherwise it was reset, with all others that decreased. An
// error costs one step over the maximum and never adds one.
void Advance(std::span<const Register> registers, std::span<const Reading> readings,
             std::span<Total> totals);

}  // namespace fabric::counters
