#include "daemon/blame/scorer.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "daemon/blame/path_flows.h"
#include "daemon/blame/transient_bound.h"

namespace fabric::blame {
namespace {

struct ComponentTraits {
  double prior;        // Probability that one such component fails during a campaign
  std::size_t shares;  // Number of entries of kShares that apply, from first_share on
  std::size_t first_share;
  bool as_a_whole;  // It fails as a whole: a flapping port affects all its flows at once
};

ComponentTraits TraitsOf(ComponentKind kind) {
  switch (kind) {
    case ComponentKind::kPort: return {1e-4, 3, 0, true};
    case ComponentKind::kHost: return {5e-5, 3, 0, true};
    case ComponentKind::kLeaf: return {5e-5, 1, 0, false};
    case ComponentKind::kUplink: return {1e-4, kShareCount, 0, false};
    case ComponentKind::kSpine: return {2e-5, kShareCount - 1, 1, false};
    case ComponentKind::kLeafPair: return {1e-6, 1, 0, false};
    case ComponentKind::kRail: return {1e-5, 1, 0, false};
    case ComponentKind::kPair: return {3e-7, 3, 0, true};
    case ComponentKind::kFabric: return {1e-6, 1, 0, false};
  }
  return {};
}

constexpr std::uint8_t kHalf = 1;      // Index into kShares
constexpr double kExpectedBad = 0.3;   // Prior of a component that is bad in another channel
constexpr double kOneDirection = 0.2;  // Fraction of faults that affect only one given direction

double TransientProbabilityOf(Channel channel) {
  switch (channel) {
    case Channel::kLoss: return 1e-3;
    case Channel::kSpeed: return 3e-3;
    case Channel::kLatency: return 1e-2;
  }
  return 0;
}

double LogMixture(double share, double gain) {
  if (share == 1) return gain;
  return std::log1p(share * std::expm1(std::min(gain, 300.0)));
}

double LogPriorOf(Direction direction) {
  return std::log(direction == Direction::kBoth ? 1 - 2 * kOneDirection : kOneDirection);
}

bool SamePair(const Observation& a, const Observation& b) {
  return std::minmax(a.from, a.to) == std::minmax(b.from, b.to);
}

}  // namespace

Scorer::Scorer(const ObservationPaths& paths, const ExplainedLevels& levels,
               const CounterEvidence& counters)
    : paths_(paths),
      levels_(levels),
      counters_(counters),
      transient_(TransientProbabilityOf(levels.channel())),
      scores_(levels.kinds() * kLevels) {}

// Load of a host makes it slow or late in some rounds. So a host or port that is slow or late in
// some rounds only has no fault, unless it also loses packets: then it may flap.
std::size_t Scorer::SharesOf(const Component& component) const {
  const ComponentTraits traits = TraitsOf(component.kind);
  if (levels_.channel() == Channel::kLoss || expected_.contains(component)) return traits.shares;
  // Flows with one path hash are slow with all leaves. The spine is not the cause then.
  if (component.kind == ComponentKind::kSpine && levels_.channel() == Channel::kSpeed) return 0;
  return traits.as_a_whole ? 1 : traits.shares;
}

void Scorer::SetTransient(double probability) {
  transient_ = probability;
  pairs_.clear();
  rounds_.clear();
}

double Scorer::Most(const Sums& sums) {
  double most = 0;
  for (const Gains& gains : sums)
    most = std::max(most, *std::max_element(gains.begin(), gains.end()));
  return most;
}

double Scorer::TransientDiscount(double most) const {
  return LogOddsOfChance(most, transient_);
}

// The score of one event is bounded, because it may have a transient cause: a host pause makes all
// probes with its partners bad in that round. A flow is as bad as the worst cause on its path: with
// a transient cause, the flows of the hypothesis are at its level or worse, and the others at any.
void Scorer::BoundEvent(std::size_t flows, Sums& sums) const {
  const double most = Most(sums);
  if (most <= 0) return;
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    double both =
        share == 0 ? -1e18 : most + static_cast<double>(flows) * std::log1p(-kShares[share]);
    for (std::size_t worse = kWorse; worse-- > 0;) {
      double& gain = sums[share][worse];
      both = std::max(both, gain);
      gain = AgainstTransient(gain, both, most, transient_);
    }
  }
}

const Scorer::ObservationScore& Scorer::ScoreOfObservation(std::uint32_t observation) {
  const std::size_t level = levels_.LevelOf(observation);
  std::optional<ObservationScore>& score = scores_[levels_.KindOf(observation) * kLevels + level];
  if (score) return *score;
  score.emplace();
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      const double gain = levels_.Gain(observation, worse + 1, share > 0);
      // With high noise some flows are slow without a cause: only hypotheses about all flows count.
      if (gain > 0 && share > 0 && levels_.Noisy(observation)) continue;
      (gain > 0 ? score->bad : score->good)[share][worse] = LogMixture(kShares[share], gain);
    }
  }
  return *score;
}

std::uint64_t Scorer::KeyOf(Cluster pair) const {
  std::uint64_t key = pair.size();
  for (const std::uint32_t i : pair)
    key = SplitMix(key ^ (levels_.KindOf(i) * kLevels + levels_.LevelOf(i)));
  return key;
}

const Scorer::PairScore& Scorer::PairOf(Cluster pair, std::uint64_t key) {
  const auto [at, fresh] = pairs_.try_emplace(key);
  PairScore& sums = at->second;
  if (!fresh) return sums;
  Sums good{};
  Sums bad{};
  // Noisy figures of a pair are correlated: their joint weight grows slower than their number.
  const auto noisy = std::count_if(pair.begin(), pair.end(),
                                   [&](std::uint32_t one) { return levels_.Noisy(one); });
  for (const std::uint32_t observation : pair) {
    const ObservationScore& one = ScoreOfObservation(observation);
    const double weight = levels_.Noisy(observation) ? 2 / static_cast<double>(noisy + 1) : 1;
    for (std::size_t share = 0; share < kShares.size(); ++share) {
      for (std::size_t worse = 0; worse < kWorse; ++worse) {
        good[share][worse] += weight * one.good[share][worse];
        bad[share][worse] += weight * one.bad[share][worse];
      }
    }
  }
  for (std::size_t share = 0; share < kShares.size(); ++share)
    for (std::size_t worse = 0; worse < kWorse; ++worse)
      sums.per_flow[share][worse] = good[share][worse] + bad[share][worse];
  // A transient cause can also affect some flows only.
  BoundEvent(pair.size(), sums.per_flow);
  sums.as_a_whole = sums.per_flow[0];
  return sums;
}

const Scorer::RoundScore& Scorer::RoundOf(const std::vector<Cluster>& pairs) {
  std::uint64_t key = pairs.size();
  Gains gains{};
  for (const Cluster& pair : pairs) {
    const std::uint64_t of_pair = KeyOf(pair);
    key = SplitMix(key ^ of_pair);
    const Gains& one = PairOf(pair, of_pair).as_a_whole;
    for (std::size_t worse = 0; worse < kWorse; ++worse) gains[worse] += one[worse];
  }
  const auto [at, fresh] = rounds_.try_emplace(key);
  RoundScore& sums = at->second;
  if (!fresh) return sums;
  const double excess = TransientDiscount(*std::max_element(gains.begin(), gains.end()));
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      sums.score[share][worse] = LogMixture(kShares[share], gains[worse]);
      sums.against_chance[share][worse] = sums.score[share][worse] - excess;
    }
  }
  return sums;
}

void Scorer::AddHalf(Total& total) {
  Gains gains{};
  for (const Cluster& pair : round_pairs_) {
    const Gains& one = PairOf(pair, KeyOf(pair)).per_flow[kHalf];
    for (std::size_t worse = 0; worse < kWorse; ++worse) gains[worse] += one[worse];
  }
  const double excess = TransientDiscount(*std::max_element(gains.begin(), gains.end()));
  for (std::size_t worse = 0; worse < kWorse; ++worse) {
    total.half[worse] += gains[worse];
    total.half_against_chance[worse] += gains[worse] - excess;
  }
}

void Scorer::AddRound(const Component& component, Cluster round, Total& total) {
  const ComponentTraits traits = TraitsOf(component.kind);
  const auto observations = paths_.observations();
  round_pairs_.clear();
  for (std::size_t begin = 0; begin < round.size();) {
    const Observation& first = observations[round[begin]];
    std::size_t end = begin + 1;
    while (end < round.size() && SamePair(first, observations[round[end]])) ++end;
    round_pairs_.push_back(round.subspan(begin, end - begin));
    begin = end;
  }
  const auto add = [&](const Sums& score, const Sums& against_chance) {
    for (std::size_t n = 0; n < SharesOf(component); ++n) {
      const std::size_t share = traits.first_share + n;
      for (std::size_t worse = 0; worse < kWorse; ++worse) {
        total.score[share][worse] += score[share][worse];
        total.against_chance[share][worse] += against_chance[share][worse];
      }
    }
  };
  if (component.kind == ComponentKind::kPort && SharesOf(component) > kHalf) AddHalf(total);
  if (traits.as_a_whole) {
    const RoundScore& sums = RoundOf(round_pairs_);
    return add(sums.score, sums.against_chance);
  }
  host_pairs_.clear();
  for (const Cluster& pair : round_pairs_) {
    const Sums& sums = PairOf(pair, KeyOf(pair)).per_flow;
    if (Most(sums) <= 0) {
      add(sums, sums);
      continue;
    }
    const Observation& first = observations[pair.front()];
    host_pairs_.push_back({paths_.NodeOf(first.from), paths_.NodeOf(first.to), &sums});
  }
  AddByHost(add);
}

// The bad pairs of a host in one round have one transient cause, if any: a paused or loaded host
// is late with all its partners. A pair counts for the end with more bad pairs.
template <class Add>
void Scorer::AddByHost(const Add& add) {
  pairs_of_host_.clear();
  for (const HostPair& pair : host_pairs_) {
    ++pairs_of_host_[pair.from];
    if (pair.to != pair.from) ++pairs_of_host_[pair.to];
  }
  std::map<std::uint32_t, Sums> hosts;
  for (const HostPair& pair : host_pairs_) {
    const std::uint32_t host =
        pairs_of_host_.at(pair.from) >= pairs_of_host_.at(pair.to) ? pair.from : pair.to;
    if (pairs_of_host_.at(host) == 1) {
      add(*pair.sums, *pair.sums);
      continue;
    }
    add(*pair.sums, Sums{});
    Sums& sums = hosts[host];
    for (std::size_t share = 0; share < kShares.size(); ++share)
      for (std::size_t worse = 0; worse < kWorse; ++worse)
        sums[share][worse] += (*pair.sums)[share][worse];
  }
  for (auto& [host, sums] : hosts) {
    BoundEvent(1, sums);
    add(Sums{}, sums);
  }
}

bool Scorer::Affects(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (hypothesis.direction == Direction::kBoth || !levels_.OneWay(observation)) return true;
  return hypothesis.direction == Direction::kOut ? paths_.Leaves(hypothesis.component, observation)
                                                 : paths_.Enters(hypothesis.component, observation);
}

bool Scorer::Explains(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (!Affects(hypothesis, observation)) return false;
  if (hypothesis.fit.level <= levels_.LevelOf(observation)) return false;
  const double share = kShares[hypothesis.fit.share];
  if (share == 1) return true;
  return std::log(share / (1 - share)) + levels_.Gain(observation, hypothesis.fit.level) > 0;
}

// A path of a leaf or spine, with flows that keep their path.
void Scorer::AddPathFlows(const Component& component, Cluster through, Fit& best) const {
  if (component.kind != ComponentKind::kUplink && component.kind != ComponentKind::kSpine) return;
  if (SharesOf(component) == 0) return;
  const PathFlowsFit fit = FitPathFlows(paths_, levels_, through, kShares, transient_);
  if (!fit.any) return;
  for (std::size_t share = 1; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      const double score = fit.score[share][worse];
      Take(score, score - fit.by_host[worse], worse + 1, share, best);
    }
  }
}

void Scorer::Take(double score, double against_chance, std::size_t level, std::size_t share,
                  Fit& best) {
  const bool same_extent = (share == 0) == (best.share == 0);
  if (score <= best.score) {
    if (!same_extent) best.other_extent = std::max(best.other_extent, score);
    return;
  }
  best.other_extent = same_extent ? best.other_extent : best.score;
  best.score = score;
  best.against_chance = against_chance;
  best.level = static_cast<std::uint8_t>(level);
  best.share = static_cast<std::uint8_t>(share);
}

Fit Scorer::BestFit(const Component& component, Direction direction, Cluster through) {
  const ComponentTraits traits = TraitsOf(component.kind);
  const auto observations = paths_.observations();
  Total total;
  for (std::size_t begin = 0; begin < through.size();) {
    const std::uint32_t round = observations[through[begin]].round;
    std::size_t end = begin + 1;
    while (end < through.size() && observations[through[end]].round == round) ++end;
    AddRound(component, through.subspan(begin, end - begin), total);
    begin = end;
  }
  Fit best;
  for (std::size_t n = 0; n < SharesOf(component); ++n) {
    const std::size_t share = traits.first_share + n;
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      Take(total.score[share][worse], total.against_chance[share][worse], worse + 1, share, best);
    }
  }
  for (std::size_t worse = 0; worse < kWorse; ++worse)
    if (component.kind == ComponentKind::kPort && SharesOf(component) > kHalf)
      Take(total.half[worse], total.half_against_chance[worse], worse + 1, kHalf, best);
  AddPathFlows(component, through, best);
  const double prior = LogPrior(component) + LogPriorOf(direction);
  best.score += prior + counters_.LogOdds(component, levels_.channel());
  best.other_extent += prior + counters_.LogOdds(component, levels_.channel());
  best.against_chance += prior;
  return best;
}

double Scorer::LogOddsOfDirection(const Hypothesis& hypothesis) {
  const ComponentTraits traits = TraitsOf(hypothesis.component.kind);
  Sums sums{};
  for (const std::uint32_t observation : paths_.Through(hypothesis.component)) {
    if (!levels_.Has(observation) || !Affects(hypothesis, observation)) continue;
    const ObservationScore& one = ScoreOfObservation(observation);
    for (std::size_t share = 0; share < kShares.size(); ++share)
      for (std::size_t worse = 0; worse < kWorse; ++worse)
        sums[share][worse] += one.good[share][worse] + one.bad[share][worse];
  }
  double best = -1e18;
  for (std::size_t n = 0; n < SharesOf(hypothesis.component); ++n)
    for (const double gain : sums[traits.first_share + n]) best = std::max(best, gain);
  return best + LogPriorOf(hypothesis.direction);
}

double Scorer::LogPrior(const Component& component) const {
  return std::log(expected_.contains(component) ? kExpectedBad : TraitsOf(component.kind).prior);
}

std::vector<Hypothesis> Scorer::Score(const Component& component) {
  std::vector<std::uint32_t> through;
  bool one_way = false;
  for (const std::uint32_t observation : paths_.Through(component)) {
    if (!levels_.Has(observation)) continue;
    through.push_back(observation);
    one_way = one_way || levels_.OneWay(observation);
  }
  std::vector<Hypothesis> result;
  result.push_back({component, Direction::kBoth, BestFit(component, Direction::kBoth, through)});
  if (!one_way || !ObservationPaths::HasDirections(component)) return result;
  for (const Direction direction : {Direction::kOut, Direction::kIn}) {
    Hypothesis hypothesis{component, direction, {}};
    std::vector<std::uint32_t> affected;
    for (const std::uint32_t observation : through)
      if (Affects(hypothesis, observation)) affected.push_back(observation);
    hypothesis.fit = BestFit(component, direction, affected);
    result.push_back(hypothesis);
  }
  return result;
}

}  // namespace fabric::blame
