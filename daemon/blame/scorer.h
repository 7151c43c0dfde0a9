// How much better than chance a part of the fabric explains what was seen.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "daemon/blame/levels.h"
#include "daemon/blame/parts.h"

namespace fabric::blame {

// Of the flows through a part, or of the rounds, that are bad.
inline constexpr std::array<double, 6> kShares = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125};

struct Fit {
  double score = -1e18;  // Logarithm of its odds against chance, before other parts are weighed
  std::uint8_t level = 0;
  std::uint8_t share = 0;  // Index into kShares
};

struct Hypothesis {
  Part part;
  Way way = Way::kBoth;
  Fit fit;
};

// Borrows both, and follows the levels of `readings`.
class Scorer {
 public:
  Scorer(const Passages& passages, const Readings& readings);

  // Parts that are known to be bad otherwise are likely to be bad here too.
  void Expect(const Part& part) { expected_.insert(part); }
  double LogPrior(const Part& part) const;

  // One for each way in which the part can be bad that the observations tell apart.
  std::vector<Hypothesis> Score(const Part& part);
  bool Affects(const Hypothesis& hypothesis, std::uint32_t observation) const;
  // That the observation is as bad as `hypothesis` would have it, by what was seen.
  bool Explains(const Hypothesis& hypothesis, std::uint32_t observation) const;

 private:
  static constexpr std::size_t kWorse = kLevels - 1;  // Level 1 and on
  using Gains = std::array<double, kWorse>;
  using Sums = std::array<Gains, kShares.size()>;  // By share and level

  const Sums& SumsOf(std::uint32_t observation, bool softened);
  Fit BestFit(const Part& part, Way way, std::span<const std::uint32_t> through);
  void AddCluster(const Part& part, std::span<const std::uint32_t> cluster, Sums& sums);
  double Soften(double gain) const;

  struct Cached {
    bool known = false;
    Sums plain;     // As one of several of its cluster
    Sums softened;  // As the only one
  };

  const Passages& passages_;
  const Readings& readings_;
  std::set<Part> expected_;
  double passing_ = 0;         // Probability that a cluster goes wrong for a passing reason
  std::vector<Cached> cache_;  // By kind of figures and present level
};

}  // namespace fabric::blame
