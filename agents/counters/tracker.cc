#include "agents/counters/tracker.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace fabric::counters {
namespace {

constexpr std::uint64_t kStepsOfLate = 8;  // A step this many times the recent ones is plausible.
constexpr unsigned kPlausibleShift = 12;   // As is 1/4096 of the range.

std::uint64_t Max(std::uint32_t width_bits) {
  return width_bits >= 64 ? std::numeric_limits<std::uint64_t>::max()
                          : (std::uint64_t{1} << width_bits) - 1;
}

// The way over the top when that is the plausible reading of a fall to `raw`; else 0.
std::uint64_t WrappedStep(const Register& reg, const Total& total, std::uint64_t raw) {
  const std::uint64_t max = Max(reg.width_bits);
  if (reg.stops || reg.width_bits >= 64 || total.raw > max) return 0;
  const std::uint64_t step = max - total.raw + raw + 1;
  const std::uint64_t likely =
      std::min(std::max(total.recent * kStepsOfLate, max >> kPlausibleShift), max / 2);
  return step <= likely ? step : 0;
}

// Wide data registers have 32 bits where the device lacks the extended ones, and stop there too.
bool Stands(const Register& reg, std::uint64_t raw) {
  return reg.stops && (raw == Max(reg.width_bits) || raw == Max(32));
}

void Step(const Register& reg, std::uint64_t counts, Total& total) {
  total.value += counts * reg.factor;
  total.recent = std::max(total.recent / 2, counts);
}

void Take(const Register& reg, std::uint64_t raw, bool wraps_count, Total& total) {
  if (!total.known) {
    total.value = raw * reg.factor;
    total.known = true;
  } else if (raw >= total.raw) {
    Step(reg, raw - total.raw, total);
  } else if (const std::uint64_t step = wraps_count ? WrappedStep(reg, total, raw) : 0; step > 0) {
    Step(reg, step, total);
  } else {
    total.value = raw * reg.factor;
    total.recent = 0;
    ++total.resets;
  }
  total.raw = raw;
  total.saturated = Stands(reg, raw);
}

}  // namespace

void Advance(std::span<const Register> registers, std::span<const Reading> readings,
             std::span<Total> totals) {
  assert(registers.size() == totals.size() && readings.size() == totals.size());
  bool reset = false;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const Total& total = totals[i];
    if (total.known && readings[i].there && readings[i].raw < total.raw)
      reset = reset || WrappedStep(registers[i], total, readings[i].raw) == 0;
  }
  for (std::size_t i = 0; i < totals.size(); ++i)
    if (readings[i].there) Take(registers[i], readings[i].raw, !reset, totals[i]);
}

}  // namespace fabric::counters
