// State of one search: the chosen hypotheses, and the levels of the observations that they explain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "daemon/blame/search.h"
#include "daemon/blame/slow_periods.h"

namespace fabric::blame {

// A cause that explains several chosen components at once.
struct SharedCause {
  Hypothesis hypothesis;
  double log_odds = 0;  // To the chosen components together
};

// Borrows its arguments.
class SearchRun {
 public:
  SearchRun(const ObservationPaths& paths, const ChannelLikelihoods& figures,
            const CounterEvidence& counters, const KnownFaults& known);

  SearchResult Run();

 private:
  using Scores = std::map<Component, std::vector<Hypothesis>>;  // By direction

  static const Hypothesis& Best(const std::vector<Hypothesis>& directions);
  static double AgainstChance(const std::vector<Hypothesis>& directions) {
    return Best(directions).fit.against_chance;
  }
  // The bound on one event also limits the difference between directions. So among directions that
  // score nearly as well as the best, compare the unbounded likelihoods.
  const Hypothesis& LikeliestDirection(const std::vector<Hypothesis>& directions);
  // Components on the paths of these observations, as far as those are not yet explained, with at
  // least this score against chance.
  Scores ComponentsOfBad(const std::vector<std::uint32_t>& observations, double against_chance_min);
  // Cached until a level of its observations changes.
  const std::vector<Hypothesis>& ScoreOf(const Component& component);
  // The level of the observation changed.
  void InvalidateScores(std::uint32_t observation);
  // Nothing is known about the ports of a host that does not run.
  void Ignore(const Fault& stalled);

  // Searches, learns the rate of transient causes from what no fault explains, and searches again
  // if that is more than expected.
  void Choose();
  void ChooseOnce();
  // Chooses the component with the best score, then the best for the unexplained rest, and so on.
  void ChooseGreedily();
  // Marks what the hypothesis explains, beyond what others explain already.
  void Explain(const Hypothesis& hypothesis);
  // Sets the levels of the observations from all chosen hypotheses except `without`.
  void RecomputeLevels(const std::vector<std::uint32_t>& observations, std::size_t without);
  // All components that could explain the observations of a chosen one, as if it were not chosen.
  // Leaves the levels in that state.
  Scores Alternatives(std::size_t index, std::vector<std::uint32_t>& explained);
  // Reconsiders each chosen component, given all others: keeps, replaces or drops it.
  void Reconsider();

  // Explains the bad flows of a chosen spine by uplinks instead. Returns the sum of their scores.
  double ScoreAsUplinks(std::size_t index, std::vector<std::uint32_t>& explained,
                        std::vector<Hypothesis>& uplinks);
  std::size_t CountUnexplained(const std::vector<std::uint32_t>& observations) const;
  // A spine is bad with all leaves: uplinks of a few that explain its flows better replace it.
  void SplitSpines();
  // Several uplinks with the same symptom may have one cause: a spine that explains them better
  // replaces them.
  void JoinUplinks();
  void JoinUplinksOf(const Component& spine);
  // Log odds of these uplinks to chance, one after the other.
  double ScoreOfUplinks(const std::vector<Hypothesis>& uplinks,
                        std::vector<std::uint32_t>& explained);
  // Adds the causes that the component may share with others to the candidates for it.
  void AddSharedCauses(const Component& component, std::vector<Candidate>& candidates);

  // Another channel that shows the fault excludes shared paths.
  bool MayShareItsPaths(const Hypothesis& hypothesis) const;
  bool IsChosen(const Component& component) const;
  void AddDeadPorts(std::vector<Component>& suspicious);
  // The likely cause is a slow period that is over, and later probes of the component are good.
  bool WasSlowPeriod(const Hypothesis& hypothesis) const;
  // Odds to the best of `scores` of causes that are no candidate: chance, slow periods and others.
  // Absent: the likely cause is a slow period that is over.
  std::optional<double> OddsOfOthers(const Hypothesis& chosen, const Scores& scores,
                                     Fault& fault) const;
  Candidate CandidateOf(const std::vector<Hypothesis>& directions, double probability);
  std::optional<Fault> FaultOf(std::size_t index);

  const ObservationPaths& paths_;
  ExplainedLevels levels_;
  Scorer scorer_;
  std::vector<std::uint32_t> bad_;
  std::vector<Hypothesis> chosen_;
  std::map<Component, std::vector<Hypothesis>> known_;
  std::map<Component, double> as_uplinks_;  // Log odds of several uplinks to a spine
  std::map<Component, std::vector<SharedCause>> shared_causes_;  // By chosen uplink
  std::vector<Component> changed_;                               // Scratch memory
  std::optional<SlowPeriods> slow_periods_;                      // After Choose()
};

}  // namespace fabric::blame
