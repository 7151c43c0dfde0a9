// Rate of transient causes, learned from the observations themselves.
//
// Hosts pause and are loaded, more often in some fleets than in others. A bad pair counts for the
// host with more bad pairs. The worst hosts are left out, because they may have a fault.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/blame/components.h"

namespace fabric::blame {

// Probability that a pair is bad in one round for a transient cause: at least `usual`, at most 0.5.
// `bad`: observations that no persistent fault explains, ascending.
double TransientRate(const ObservationPaths& paths, std::span<const std::uint32_t> bad,
                     double usual);

}  // namespace fabric::blame
