// Low bandwidth of some flows: one bad path of a leaf, or paths that flows share by chance.
//
// Flows with equal path hashes share links, and are slow between all leaves equally often. With few
// leaves most of these flows pass any one leaf, so that it seems to be the cause. It can be
// distinguished only by flows that do not pass it.
#pragma once

#include <span>

#include "daemon/blame/scorer.h"

namespace fabric::blame {

// Log odds that the flows between all leaves are equally often slow, relative to the hypothesis
// that flows through its uplinks are slow more often. 0 or more: nothing speaks against
// shared paths. `chosen`: all hypotheses; flows with slow ends are left out.
double LogOddsOfSharedPaths(const ObservationPaths& paths, const ExplainedLevels& levels,
                            const Hypothesis& uplink, std::span<const Hypothesis> chosen);

}  // namespace fabric::blame
