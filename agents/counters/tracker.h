// From what a register holds to what has been counted: wraps, resets and registers that stop. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace fabric::counters {

// What a register can hold and what one count in it means.
struct Register {
  std::uint32_t width_bits = 64;  // 1 to 64
  bool stops = false;             // At its maximum, as PortCounters of InfiniBand do; others wrap.
  std::uint64_t factor = 1;       // Units in one count
};

// One reading of a register.
struct Reading {
  std::uint64_t raw = 0;
  bool there = false;
};

// One counter since it was first read.
struct Total {
  std::uint64_t value = 0;   // In units. Goes on over wraps; begins anew with a reset.
  std::uint64_t raw = 0;     // The last reading
  std::uint64_t recent = 0;  // About the largest step of late, in counts
  std::uint32_t resets = 0;  // How often the register began anew
  bool saturated = false;    // Stands at its maximum and counts no further
  bool known = false;        // Has been read
};

// Takes readings of registers that one reset clears together: those of one port and source. All
// three have the same size; a counter whose reading is not there stays as it is.
//
// A register that has fallen has wrapped when the way over its top is no longer than its steps were
// of late, or than 1/4096 of its range; else it was reset, and so was all that fell with it. Where
// that is wrong, one step over the top is lost, and no step is ever too long.
void Advance(std::span<const Register> registers, std::span<const Reading> readings,
             std::span<Total> totals);

}  // namespace fabric::counters
