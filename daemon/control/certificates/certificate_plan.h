// Probes that fit into the time of a certificate. Pure.
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
  std::vector<v1::ProbeSpec> probes;  // Of each pair, in order
  std::uint32_t rounds = 0;           // Maximum number of partners of each port
  bool all_pairs = false;             // All pairs; otherwise it ends once a fault is located.
  std::vector<v1::CoverageGap> not_covered;  // Probes without enough time
};

// `partners_max`: the largest number of partners of a port. At most `pairs_at_once` run. The plan
// assumes the probe durations of a slow adapter, several times the usual ones; slower probes are
// cut off at the deadline. The timeout of a probe, 5 s to 15 s, leaves time for all others if one
// port hangs in all of its probes.
CertificatePlan PlanWithin(Duration within, std::size_t ports, std::size_t partners_max,
                           std::uint32_t pairs_at_once);

// Time for probes; the rest is for the verdict.
Duration ProbingTime(Duration within);

}  // namespace fabric::control
