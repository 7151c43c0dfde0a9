// The fewest and likeliest parts that explain one channel of what was seen.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "daemon/blame/levels.h"
#include "daemon/blame/parts.h"
#include "daemon/blame/scorer.h"

namespace fabric::blame {

// A part that would explain a trouble.
struct Candidate {
  Hypothesis hypothesis;   // The likeliest way and level
  double probability = 0;  // Of the part, whatever the way
  double way_is = 0;       // Probability of that way, if it is the part
};

struct Trouble {
  Channel channel = Channel::kLoss;
  std::vector<Candidate> candidates;        // Likeliest first; what is missing to 1 is chance.
  std::vector<std::uint32_t> observations;  // That the likeliest one explains, rising
  std::size_t rounds = 0;                   // In which these were seen
  double first_s = 0;  // When the first and the last of these began; 0: not known
  double last_s = 0;
  bool decided = false;
};

// A host that pauses (for its kernel, its firmware, its hypervisor) is bad with all its partners
// for that long, however many rounds fall into it, and well again: no fault of it is named for
// less.
inline constexpr double kPauseMaxS = 2;
// Leaves and spines do not pause.
bool MayPause(const Part& part);

struct Found {
  std::vector<Trouble> troubles;
  std::vector<Part> suspicious;  // Not enough yet to call it a trouble, too much to call it none
  double unexplained = 0;        // Part of all observations that are bad for no known reason
};

// `expected` are parts that other channels found bad.
Found Search(const Passages& passages, const Figures& figures, const CounterEvidence& counters,
             const std::set<Part>& expected);

}  // namespace fabric::blame
