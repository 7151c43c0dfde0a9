// Requests of one size as fast as they go, for a time or a number of them.
#pragma once

#include <cstdint>
#include <optional>

#include "agents/probe/probe.h"

namespace fabric::probe {

struct Burst {
  host::WorkRequest request;  // Each of them; numbered by the burst
  std::uint32_t depth = 1;    // Outstanding ones
  std::uint32_t count = 0;    // 0: as many as there is time for
  Duration time{};            // Zero: as long as it takes
};

// Payload from the first post to the last completion. DEADLINE_EXCEEDED with how far it came,
// UNAVAILABLE with the request that failed. `what` names the request: "write".
Result<v1::BandwidthSummary> RunBurst(ProbeRun& run, const Burst& burst, std::string_view what);

}  // namespace fabric::probe
