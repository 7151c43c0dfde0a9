// Validation of probe specs from clients and of results from agents. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

inline constexpr std::uint32_t kProbeTimeoutDefaultMs = 10'000;
inline constexpr std::uint32_t kProbeTimeoutMaxMs = 600'000;
inline constexpr std::size_t kReasonBytesMax = 400;

// Fills in defaults: the probes of an empty list, timeouts. INVALID_ARGUMENT for a probe without a
// kind or out of bounds.
Status Complete(v1::CampaignSpec& spec);

// Host memory, in bytes, that each end of the probe registers at least.
std::uint64_t MemoryOfEnd(const v1::ProbeSpec& spec);

// Checks an agent's result for `spec`: a known status, "ok" only with finite values that the kind
// measures, otherwise one line of reason. `node` sent it; `partner` is the other end, the only
// other node that it may blame.
v1::ProbeResult Checked(const v1::ProbeSpec& spec, v1::ProbeResult result, const std::string& node,
                        const std::string& partner);

// Counter readings of `port` from an agent: drops invalid names and values.
v1::PortCounterDeltas CheckedDeltas(const v1::PortCounterDeltas& deltas, const v1::ProbePort& port);

// One line of at most kReasonBytesMax bytes, cut between characters.
std::string OneLine(const std::string& text);

}  // namespace fabric::control
