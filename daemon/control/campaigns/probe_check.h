// What comes from outside about probes, brought into bounds. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

inline constexpr std::uint32_t kProbeTimeoutDefaultMs = 10'000;
inline constexpr std::uint32_t kProbeTimeoutMaxMs = 600'000;
inline constexpr std::size_t kReasonBytesMax = 400;

// Fills in what the spec leaves open: the probes of an empty list, default timeouts.
// INVALID_ARGUMENT for a probe without a kind, or with what no hardware could do.
Status Complete(v1::CampaignSpec& spec);

// An agent's result for `spec`, as it may be stored: known status, an "ok" only with the finite
// figures that the kind measures, one line of reason for everything else. `node` is who
// sent it; `partner` the other end, the only other one that may be blamed.
v1::ProbeResult Checked(const v1::ProbeSpec& spec, v1::ProbeResult result, const std::string& node,
                        const std::string& partner);

// What an agent says that counters of `port` did: only names and values that can be.
v1::PortMoves CheckedMoves(const v1::PortMoves& moves, const v1::ProbePort& port);

// One line of at most kReasonBytesMax bytes, cut between characters.
std::string OneLine(const std::string& text);

}  // namespace fabric::control
