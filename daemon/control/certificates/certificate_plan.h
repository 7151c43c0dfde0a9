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

struct CertifiedPorts {
  std::size_t count = 0;
  std::size_t partners_max = 0;  // Of one port
  bool alone = false;            // Each port is probed with itself.
};

// At most `pairs_at_once` run. The bandwidth of a pair is measured in both directions by one probe;
// a port alone sends in one direction, because both would share its link. The plan assumes the
// probe durations of a slow adapter, several times the usual ones; slower probes are cut off at the
// deadline. The timeout of a probe, 5 s to 15 s, leaves time for all others if one port hangs in
// all of its probes.
CertificatePlan PlanWithin(Duration within, const CertifiedPorts& ports,
                           std::uint32_t pairs_at_once);

// Time for probes; the rest is for the verdict.
Duration ProbingTime(Duration within);

}  // namespace fabric::control
