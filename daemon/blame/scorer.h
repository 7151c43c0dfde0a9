// How much better than chance a part of the fabric explains what was seen.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/levels.h"
#include "daemon/blame/parts.h"

namespace fabric::blame {

// Of the flows through a part, or of the rounds, that are bad.
inline constexpr std::array<double, 6> kShares = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125};

struct Fit {
  // Logarithm of its odds, to be compared with those of other parts, and by them alone against
  // chance, which may strike all of a node in one round. Counters have no say in the latter.
  double score = -1e18;
  double sure = -1e18;
  std::uint8_t level = 0;
  std::uint8_t share = 0;  // Index into kShares
};

struct Hypothesis {
  Part part;
  Way way = Way::kBoth;
  Fit fit;
};

// Borrows all, and follows the levels of `readings`.
class Scorer {
 public:
  Scorer(const Passages& passages, const Readings& readings, const CounterEvidence& counters);

  // Parts that are known to be bad otherwise are likely to be bad here too.
  void Expect(const Part& part) { expected_.insert(part); }
  double LogPrior(const Part& part) const;
  // More than that no single pair of a round says.
  double EventMax() const { return -std::log(passing_); }

  // One for each way in which the part can be bad that the observations tell apart.
  std::vector<Hypothesis> Score(const Part& part);
  // To be compared with the other ways of the same part. What one event says is not bounded here: a
  // passing reason has no way.
  double LogOddsOfWay(const Hypothesis& hypothesis);
  bool Affects(const Hypothesis& hypothesis, std::uint32_t observation) const;
  // That the observation is as bad as `hypothesis` would have it, by what was seen.
  bool Explains(const Hypothesis& hypothesis, std::uint32_t observation) const;

 private:
  static constexpr std::size_t kWorse = kLevels - 1;  // Level 1 and on
  using Gains = std::array<double, kWorse>;
  using Sums = std::array<Gains, kShares.size()>;  // By share and level

  using Cluster = std::span<const std::uint32_t>;

  // What the observations of one pair in one round say.
  struct OfPair {
    Gains at_once;  // If they are all good or bad at a time
    Sums apart;     // If each has its own chance to be bad
  };
  // What the pairs of a part that is good or bad as a whole say in one round.
  struct OfRound {
    Sums score;
    Sums sure;
  };
  struct Total {
    Sums score{};
    Sums sure{};
  };

  // Of one observation, by share and level; what speaks for the part apart from what speaks
  // against.
  struct OfOne {
    Sums good{};
    Sums bad{};
  };
  const OfOne& MixedOf(std::uint32_t observation);
  std::uint64_t KeyOf(Cluster pair) const;
  const OfPair& PairOf(Cluster pair, std::uint64_t key);
  const OfRound& RoundOf(const std::vector<Cluster>& pairs);
  void AddRound(const Part& part, Cluster round, Total& total);
  Fit BestFit(const Part& part, Way way, Cluster through);
  double Excess(double most) const;

  const Passages& passages_;
  const Readings& readings_;
  const CounterEvidence& counters_;
  std::set<Part> expected_;
  double passing_ = 0;  // Probability that a cluster goes wrong for a passing reason
  // What observations with the same figures and levels say is the same: it is worked out once.
  std::vector<std::optional<OfOne>> mixed_;  // By kind of figures and level
  std::unordered_map<std::uint64_t, OfPair> pairs_;
  std::unordered_map<std::uint64_t, OfRound> rounds_;
  std::vector<Cluster> round_pairs_;
};

}  // namespace fabric::blame
