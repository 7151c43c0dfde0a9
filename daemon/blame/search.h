// Search for the smallest set of faulty components that explains one channel.
//
// Greedy, with revision: choose the component with the best score, mark the observations that it
// explains, and repeat with the rest. Then reconsider each chosen component, given the others.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "daemon/blame/fault.h"

namespace fabric::blame {

struct SearchResult {
  std::vector<Fault> faults;
  std::vector<Component> suspicious;  // Evidence too weak for a fault, too strong to ignore
  double unexplained = 0;  // Fraction of observations that are bad without an explanation
};

// `expected`: components that are bad in other channels.
SearchResult Search(const ObservationPaths& paths, const ChannelLikelihoods& figures,
                    const CounterEvidence& counters, const std::set<Component>& expected);

}  // namespace fabric::blame
