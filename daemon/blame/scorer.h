// Score of a hypothesis: how much better a faulty component explains the observations than chance.
//
// Scores are natural logarithms of odds. The score of a component is its log prior, plus the log
// likelihood ratios of the observations that pass through it, each averaged over the probability
// that the observation is affected. The contribution of one event is bounded, because a transient
// cause (a host pause, for example) can make all probes of one round bad.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/blame/components.h"
#include "daemon/blame/counters.h"
#include "daemon/blame/likelihood.h"
#include "daemon/blame/path_flows.h"

namespace fabric::blame {

// Fraction of the flows through a component, or of the rounds, that are bad. A switch with 64
// uplinks sends one flow of 64 on each of them, and a path that drops large packets only is good
// for all pings.
inline constexpr std::array<double, kShareCount> kShares = {1,      0.5,     0.25,     0.125,
                                                            0.0625, 0.03125, 0.015625, 0.0078125};

struct Fit {
  // Log odds for comparison with other components. Includes counters.
  double score = -1e18;
  // Log odds for comparison with chance: all probes of a node in one round count as one event, and
  // counters are not included.
  double against_chance = -1e18;
  // The best score with the other extent: some flows instead of all, or all instead of some.
  double other_extent = -1e18;
  std::uint8_t level = 0;
  std::uint8_t share = 0;  // Index into kShares
};

struct Hypothesis {
  Component component;
  Direction direction = Direction::kBoth;
  Fit fit;
};

// One path and all paths of a leaf are different suspects: the odds of the other one, to `top`.
inline double OddsOfOtherExtent(const Hypothesis& hypothesis, double top) {
  if (hypothesis.component.kind != ComponentKind::kUplink) return 0;
  return std::exp(hypothesis.fit.other_extent - top);
}

// Borrows its arguments. Uses the current levels of `levels`.
class Scorer {
 public:
  Scorer(const ObservationPaths& paths, const ExplainedLevels& levels,
         const CounterEvidence& counters);

  // The component is bad in another channel, which makes it likely to be bad in this one.
  void Expect(const Component& component) { expected_.insert(component); }
  bool Expects(const Component& component) const { return expected_.contains(component); }
  double LogPrior(const Component& component) const;
  // Probability that a pair is bad in a round for a transient cause, such as a paused host.
  double transient() const { return transient_; }
  // Drops cached scores.
  void SetTransient(double probability);
  // Upper bound of the score of one pair in one round.
  double EventScoreMax() const { return -std::log(transient_); }

  // One hypothesis for each direction that the observations can distinguish.
  std::vector<Hypothesis> Score(const Component& component);
  // Log odds for comparison with the other directions of the same component. Events are not bounded
  // here: a transient cause has no direction.
  double LogOddsOfDirection(const Hypothesis& hypothesis);
  bool Affects(const Hypothesis& hypothesis, std::uint32_t observation) const;
  // True when the hypothesis is the likelier explanation of the observation.
  bool Explains(const Hypothesis& hypothesis, std::uint32_t observation) const;

 private:
  static constexpr std::size_t kWorse = kLevels - 1;  // Levels above 0
  using Gains = std::array<double, kWorse>;
  using Sums = std::array<Gains, kShares.size()>;  // By share and level

  using Cluster = std::span<const std::uint32_t>;

  // Score of one pair in one round.
  struct PairScore {
    Gains as_a_whole;  // All flows are good or bad together
    Sums per_flow;     // Each flow is good or bad independently
  };
  // Score of all pairs of a component in one round, for components that fail as a whole.
  struct RoundScore {
    Sums score;
    Sums against_chance;
  };
  struct Total {
    Sums score{};
    Sums against_chance{};
    // For ports: half of the flows are bad, as with a broken link of an aggregated port
    Gains half{};
    Gains half_against_chance{};
  };

  // Score of one observation, by share and level. `good` holds terms against the hypothesis, `bad`
  // terms for it.
  struct ObservationScore {
    Sums good{};
    Sums bad{};
  };
  const ObservationScore& ScoreOfObservation(std::uint32_t observation);
  std::uint64_t KeyOf(Cluster pair) const;
  const PairScore& PairOf(Cluster pair, std::uint64_t key);
  const RoundScore& RoundOf(const std::vector<Cluster>& pairs);
  std::size_t SharesOf(const Component& component) const;  // Number of entries of kShares
  static double Most(const Sums& sums);
  template <class Add>
  void AddByHost(const Add& add);
  void AddHalf(Total& total);  // Of round_pairs_
  void AddRound(const Component& component, Cluster round, Total& total);
  void AddPathFlows(const Component& component, Cluster through, Fit& best) const;
  static void Take(double score, double against_chance, std::size_t level, std::size_t share,
                   Fit& best);
  Fit BestFit(const Component& component, Direction direction, Cluster through);
  double TransientDiscount(double most) const;
  // Bounds the score of one event with this number of flows.
  void BoundEvent(std::size_t flows, Sums& sums) const;

  const ObservationPaths& paths_;
  const ExplainedLevels& levels_;
  const CounterEvidence& counters_;
  std::set<Component> expected_;
  double transient_ = 0;  // Probability that an event has a transient cause
  // Caches: observations with equal figures and levels have equal scores.
  std::vector<std::optional<ObservationScore>> scores_;  // By kind and level
  std::unordered_map<std::uint64_t, PairScore> pairs_;
  std::unordered_map<std::uint64_t, RoundScore> rounds_;
  std::vector<Cluster> round_pairs_;
  // Bad pairs of a round
  struct HostPair {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    const Sums* sums = nullptr;
  };
  std::vector<HostPair> host_pairs_;
  std::map<std::uint32_t, std::uint32_t> pairs_of_host_;  // Number, by node
};

}  // namespace fabric::blame
