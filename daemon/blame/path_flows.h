// Fit of a fault of one path out of a leaf or through a spine, which may come and go.
//
// A switch chooses the path of a flow by a hash, so that each flow keeps its path: probes of a flow
// in several rounds say once, not several times, whether it is on the bad path. A fault that comes
// and goes, such as congestion, does so for all its flows at once: rounds in which it is away say
// nothing about the paths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/blame/components.h"
#include "daemon/blame/likelihood.h"

namespace fabric::blame {

// Number of fractions of the flows that are compared.
inline constexpr std::size_t kShareCount = 8;

struct PathFlowsFit {
  using Gains = std::array<double, kLevels - 1>;  // By level above 0

  // Log likelihood ratios to chance, by share and level.
  std::array<Gains, kShareCount> score = {};
  Gains by_host = {};  // Less than `score` where a host has one transient cause in a round
  bool any = false;    // False: too few bad observations
};

// `through`: observations of the component, by round and pair. `shares`: fractions of the flows.
// `transient`: probability that a pair is bad in a round for a transient cause.
PathFlowsFit FitPathFlows(const ObservationPaths& paths, const ExplainedLevels& levels,
                          std::span<const std::uint32_t> through,
                          std::span<const double, kShareCount> shares, double transient);

}  // namespace fabric::blame
