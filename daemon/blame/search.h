// Search for the smallest set of faulty components that explains one channel.
//
// Greedy, with revision: choose the component with the best score, mark the observations that it
// explains, and repeat with the rest. Then reconsider each chosen component, given the others.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "daemon/blame/components.h"
#include "daemon/blame/likelihood.h"
#include "daemon/blame/scorer.h"

namespace fabric::blame {

// A component that could explain a fault.
struct Candidate {
  Hypothesis hypothesis;             // Its likeliest direction and level
  double probability = 0;            // Of the component, for any direction
  double direction_probability = 0;  // Given that the component is faulty
};

struct Fault {
  Channel channel = Channel::kLoss;
  std::vector<Candidate> candidates;        // Likeliest first; the rest to 1 is chance
  std::vector<std::uint32_t> observations;  // Explained by the likeliest candidate, ascending
  std::size_t rounds = 0;                   // Number of rounds with these observations
  double first_s = 0;  // Start of the first and of the last observation; 0: not known
  double last_s = 0;
  bool decided = false;
};

// A host can pause (kernel, firmware, hypervisor). During the pause, probes with all its partners
// are bad, in any number of rounds. A shorter bad period is therefore not reported as a fault.
inline constexpr double kPauseMaxS = 2;
// Ports, hosts and pairs can pause; switches do not.
bool MayPause(const Component& component);

struct SearchResult {
  std::vector<Fault> faults;
  std::vector<Component> suspicious;  // Evidence too weak for a fault, too strong to ignore
  double unexplained = 0;  // Fraction of observations that are bad without an explanation
};

// `expected`: components that are bad in other channels.
SearchResult Search(const ObservationPaths& paths, const ChannelLikelihoods& figures,
                    const CounterEvidence& counters, const std::set<Component>& expected);

}  // namespace fabric::blame
