// Pairs of ports to probe that show which part on the paths of lost packets is bad. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/blame/blame.h"

namespace fabric::blame {

// Pairs of one round, the most informative first, each endpoint at most once, on different nodes.
// `usable`: endpoints that may take part; empty: all. `seed` varies the choice. Empty without exact
// routes, and when no part on a path is suspicious.
std::vector<ProbeRequest> PairsForSuspects(const Fabric& fabric,
                                           std::span<const Observation> observations,
                                           std::span<const std::uint32_t> usable,
                                           std::uint64_t seed);

}  // namespace fabric::blame
