// What fits into the time of a certificate. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

inline constexpr std::uint32_t kWithinDefaultSeconds = 60;
inline constexpr std::uint32_t kWithinMinSeconds = 2;
inline constexpr std::uint32_t kWithinMaxSeconds = 3600;

struct CertificatePlan {
  std::vector<v1::ProbeSpec> probes;     // Of each pair, in order
  std::uint32_t rounds = 0;              // As many partners each port has at most.
  bool all_pairs = false;                // None is left out; else it ends when it is decided.
  std::vector<std::string> not_covered;  // What there is no time for
};

// `partners_max`: of the port that has most. At most `pairs_at_once` run. The durations of probes
// that it reckons with are those of a slow adapter, several times what is usual; who is faster is
// done earlier, and what is slower still is cut off at the deadline. A probe may take as long as
// leaves time for all others when a port hangs in all of its probes, 5 s to 15 s.
CertificatePlan PlanWithin(Duration within, std::size_t ports, std::size_t partners_max,
                           std::uint32_t pairs_at_once);

// How long it may be probed: the rest is for the verdict.
Duration ProbingTime(Duration within);

}  // namespace fabric::control
