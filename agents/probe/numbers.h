// Numbers that probe kinds share: bounds of a spec. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

inline constexpr std::uint32_t kTimeoutDefaultMs = 10'000;
inline constexpr std::uint32_t kPathMtuMin = 256;
inline constexpr std::uint32_t kPathMtuMax = 4096;
inline constexpr std::uint32_t kFlowLabelMax = (1U << 20) - 1;

struct Bound {
  std::string_view field;  // "message_bytes"
  std::uint32_t value;
  std::uint32_t min;
  std::uint32_t max;
};

// INVALID_ARGUMENT with the field, the bounds and what was seen.
Status CheckBound(const Bound& bound);

// The fields that every kind has: timeout_ms, traffic_class and queue_pair.
Status CheckCommon(const v1::ProbeSpec& spec);

std::uint32_t TimeoutMs(const v1::ProbeSpec& spec);

}  // namespace fabric::probe
