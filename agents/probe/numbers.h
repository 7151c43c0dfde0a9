// Numbers that probe kinds share: bounds of a spec, summaries of samples. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

inline constexpr std::uint32_t kTimeoutDefaultMs = 10'000;

struct Bound {
  std::string_view field;  // "message_bytes"
  std::uint32_t value;
  std::uint32_t min;
  std::uint32_t max;
};

// INVALID_ARGUMENT with the field, the bounds and what was seen.
Status CheckBound(const Bound& bound);

// The fields that every kind has: timeout_ms and traffic_class.
Status CheckCommon(const v1::ProbeSpec& spec);

std::uint32_t TimeoutMs(const v1::ProbeSpec& spec);

// Of at least one sample. Percentiles are by nearest rank: a value that was measured.
v1::LatencySummary Summarize(std::vector<Duration> samples);

}  // namespace fabric::probe
