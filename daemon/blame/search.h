// Search for the smallest set of faulty components that explains one channel.
//
// Greedy, with revision: choose the component with the best score, mark the observations that it
// explains, and repeat with the rest. Then reconsider each chosen component, given the others.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "daemon/blame/fault.h"

namespace fabric::blame {

struct SearchResult {
  std::vector<Fault> faults;
  std::vector<Component> suspicious;  // Evidence too weak for a fault, too strong to ignore
  double unexplained = 0;  // Fraction of observations that are bad without an explanation
};

struct KnownFaults {
  std::set<Component> decided;     // Components that are bad in other channels
  std::span<const Fault> stalled;  // Hosts whose observations are ignored
};

SearchResult Search(const ObservationPaths& paths, const ChannelLikelihoods& figures,
                    const CounterEvidence& counters, const KnownFaults& known);

}  // namespace fabric::blame
