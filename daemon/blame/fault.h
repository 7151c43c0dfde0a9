// Faults that the search found, and the decision whether the evidence names one component.
#pragma once

#include <cstdint>
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
  // Number of slow periods that can explain it instead (slow_periods.h); 0: they do not. Probes
  // after `slow_until_s` are not in the last of them.
  std::size_t slow_periods = 0;
  double slow_until_s = 0;
  bool decided = false;
  bool stalled = false;  // A host that did not run during these probes
};

// A host can pause (kernel, firmware, hypervisor). During the pause, probes with all its partners
// are bad, in any number of rounds. A shorter bad period is therefore not reported as a fault.
inline constexpr double kPauseMaxS = 2;
// Ports, hosts and pairs can pause; switches do not.
bool MayPause(const Component& component);

// The bad observations differ enough from comparable ones to be a fault.
bool IsLargeEnough(const ObservationPaths& paths, const Fault& fault);

// A spine loses equally much between all leaves. The flows between three leaves all pass two
// uplinks: if both are bad, only their different losses distinguish them from a spine. `bad`: the
// observations that the spine explains.
bool IsWorseForSomeLeaves(const ObservationPaths& paths, Channel channel,
                          const std::vector<std::uint32_t>& bad);

// Sets the rounds and times of the fault from its observations.
void SetPeriod(const ObservationPaths& paths, Fault& fault);

// Sets Fault::decided. Of an undecided fault, adds the candidates that the evidence cannot exclude.
void Decide(const ObservationPaths& paths, const ExplainedLevels& levels, const Scorer& scorer,
            Fault& fault);

}  // namespace fabric::blame
