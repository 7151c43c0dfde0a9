// Pairs to probe next so that each cable is passed, and suspicious ones are distinguished. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/blame/blame.h"

namespace fabric::blame {

// Pairs of one round, each endpoint at most once: first those that pass suspicious cables and
// differ in others, then those that pass cables without a good probe. `seed` varies the choice.
// Empty without exact routes.
std::vector<ProbeRequest> PairsForCables(const Fabric& fabric,
                                         std::span<const Observation> observations,
                                         std::span<const std::uint32_t> usable, std::uint64_t seed);

}  // namespace fabric::blame
