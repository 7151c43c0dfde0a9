// Bad observations that no persistent fault explains, and how often they occur.
//
// Hosts pause and are loaded, more often in some fleets than in others. A bad pair counts for the
// host with more bad pairs. The worst hosts are left out, because they may have a fault.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/blame/scorer.h"

namespace fabric::blame {

// Minimum badness of an observation with a transient cause.
inline constexpr double kTransientBad = 2.5;

// `bad` observations that no persistent fault of `chosen` explains, ascending. A port that is bad
// in some rounds looks like a host that pauses.
std::vector<std::uint32_t> TransientObservations(const ObservationPaths& paths,
                                                 const ExplainedLevels& levels,
                                                 std::span<const std::uint32_t> bad,
                                                 std::span<const Hypothesis> chosen);

// Pairs with a clearly bad, unexplained observation and no good one since.
std::vector<Component> OddPairs(const ObservationPaths& paths, const ExplainedLevels& levels,
                                std::span<const std::uint32_t> bad);

// Probability that a pair is bad in one round for a transient cause: at least `usual`, at most 0.5.
// `bad`: observations that no persistent fault explains, ascending.
double TransientRate(const ObservationPaths& paths, std::span<const std::uint32_t> bad,
                     double usual);

}  // namespace fabric::blame
