// Burst: requests of one size at full speed, for a time or a count.
#pragma once

#include <cstdint>
#include <optional>

#include "agents/probe/probe.h"

namespace fabric::probe {

struct Burst {
  host::WorkRequest request;  // Template; RunBurst() sets the id.
  std::uint32_t depth = 1;    // Outstanding requests
  std::uint32_t count = 0;    // 0: until `time` ends
  Duration time{};            // Zero: until `count` is reached
};

// Payload from the first post to the last completion. DEADLINE_EXCEEDED with the progress,
// UNAVAILABLE with the request that failed. `what` names the request: "write".
Result<v1::BandwidthSummary> RunBurst(ProbeRun& run, const Burst& burst, std::string_view what);

}  // namespace fabric::probe
