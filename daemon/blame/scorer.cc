#include "daemon/blame/scorer.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace fabric::blame {
namespace {

struct Nature {
  double prior;        // That one such part is bad while a campaign runs
  std::size_t shares;  // So many of kShares make sense, from ...
  std::size_t first_share;
  bool at_once;  // All of it is good or bad at a time: what comes and goes does so for all.
};

Nature NatureOf(PartKind kind) {
  switch (kind) {
    case PartKind::kPort: return {1e-4, 3, 0, true};
    case PartKind::kHost: return {5e-5, 3, 0, true};
    case PartKind::kLeaf: return {5e-5, 1, 0, false};
    case PartKind::kUplink: return {1e-4, 6, 0, false};
    case PartKind::kSpine: return {2e-5, 5, 1, false};
    case PartKind::kLeafPair: return {1e-6, 1, 0, false};
    case PartKind::kRail: return {1e-5, 1, 0, false};
    case PartKind::kPair: return {3e-7, 3, 0, true};
    case PartKind::kFabric: return {1e-6, 1, 0, false};
  }
  return {};
}

constexpr double kExpected = 0.3;  // Prior of a part that is bad otherwise
constexpr double kOneWay = 0.2;    // Of the faults of a part, those of one way

double PassingOf(Channel channel) {
  switch (channel) {
    case Channel::kLoss: return 1e-3;
    case Channel::kSpeed: return 3e-3;
    case Channel::kLatency: return 1e-2;
  }
  return 0;
}

double Mixed(double share, double gain) {
  if (share == 1) return gain;
  return std::log1p(share * std::expm1(std::min(gain, 300.0)));
}

double LogPriorOf(Way way) {
  return std::log(way == Way::kBoth ? 1 - 2 * kOneWay : kOneWay);
}

bool SamePair(const Observation& a, const Observation& b) {
  return std::minmax(a.from, a.to) == std::minmax(b.from, b.to);
}

}  // namespace

Scorer::Scorer(const Passages& passages, const Readings& readings, const CounterEvidence& counters)
    : passages_(passages),
      readings_(readings),
      counters_(counters),
      passing_(PassingOf(readings.channel())),
      mixed_(readings.kinds() * kLevels) {}

// What one event says is bounded: something may have passed by. A pause of a host, say, is bad with
// all its partners of that round, and is no fault. An event may be bad to any level: what is taken
// off is the same for all of them, so that they are still told apart.
double Scorer::Excess(double most) const {
  return most <= 0 ? 0 : std::log1p(passing_ * std::expm1(std::min(most, 300.0)));
}

const Scorer::OfOne& Scorer::MixedOf(std::uint32_t observation) {
  const std::size_t level = readings_.LevelOf(observation);
  std::optional<OfOne>& mixed = mixed_[readings_.KindOf(observation) * kLevels + level];
  if (mixed) return *mixed;
  mixed.emplace();
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      const double gain = readings_.Gain(observation, worse + 1);
      // Where figures scatter some of the flows are bad anyhow: only all of them say something.
      if (gain > 0 && share > 0 && readings_.Noisy(observation)) continue;
      (gain > 0 ? mixed->bad : mixed->good)[share][worse] = Mixed(kShares[share], gain);
    }
  }
  return *mixed;
}

std::uint64_t Scorer::KeyOf(Cluster pair) const {
  std::uint64_t key = pair.size();
  for (const std::uint32_t i : pair)
    key = SplitMix(key ^ (readings_.KindOf(i) * kLevels + readings_.LevelOf(i)));
  return key;
}

const Scorer::OfPair& Scorer::PairOf(Cluster pair, std::uint64_t key) {
  const auto [at, fresh] = pairs_.try_emplace(key);
  OfPair& sums = at->second;
  if (!fresh) return sums;
  Sums good{};
  Sums bad{};
  // Figures that scatter do so together, both ways at a time: none says as much as one alone.
  const auto noisy = std::count_if(pair.begin(), pair.end(),
                                   [&](std::uint32_t one) { return readings_.Noisy(one); });
  for (const std::uint32_t observation : pair) {
    const OfOne& one = MixedOf(observation);
    const double weight = readings_.Noisy(observation) ? 2 / static_cast<double>(noisy + 1) : 1;
    for (std::size_t share = 0; share < kShares.size(); ++share) {
      for (std::size_t worse = 0; worse < kWorse; ++worse) {
        good[share][worse] += weight * one.good[share][worse];
        bad[share][worse] += weight * one.bad[share][worse];
      }
    }
  }
  // What passed by may have struck some of the flows alone, too.
  double most = 0;
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      sums.apart[share][worse] = good[share][worse] + bad[share][worse];
      most = std::max(most, sums.apart[share][worse]);
    }
  }
  const double excess = Excess(most);
  for (Gains& gains : sums.apart)
    for (double& gain : gains) gain -= excess;
  sums.at_once = sums.apart[0];
  return sums;
}

const Scorer::OfRound& Scorer::RoundOf(const std::vector<Cluster>& pairs) {
  std::uint64_t key = pairs.size();
  Gains gains{};
  for (const Cluster& pair : pairs) {
    const std::uint64_t of_pair = KeyOf(pair);
    key = SplitMix(key ^ of_pair);
    const Gains& one = PairOf(pair, of_pair).at_once;
    for (std::size_t worse = 0; worse < kWorse; ++worse) gains[worse] += one[worse];
  }
  const auto [at, fresh] = rounds_.try_emplace(key);
  OfRound& sums = at->second;
  if (!fresh) return sums;
  const double excess = Excess(*std::max_element(gains.begin(), gains.end()));
  for (std::size_t share = 0; share < kShares.size(); ++share) {
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      sums.score[share][worse] = Mixed(kShares[share], gains[worse]);
      sums.sure[share][worse] = sums.score[share][worse] - excess;
    }
  }
  return sums;
}

void Scorer::AddRound(const Part& part, Cluster round, Total& total) {
  const Nature nature = NatureOf(part.kind);
  const auto observations = passages_.observations();
  round_pairs_.clear();
  for (std::size_t begin = 0; begin < round.size();) {
    const Observation& first = observations[round[begin]];
    std::size_t end = begin + 1;
    while (end < round.size() && SamePair(first, observations[round[end]])) ++end;
    round_pairs_.push_back(round.subspan(begin, end - begin));
    begin = end;
  }
  const auto add = [&](const Sums& score, const Sums& sure) {
    for (std::size_t n = 0; n < nature.shares; ++n) {
      const std::size_t share = nature.first_share + n;
      for (std::size_t worse = 0; worse < kWorse; ++worse) {
        total.score[share][worse] += score[share][worse];
        total.sure[share][worse] += sure[share][worse];
      }
    }
  };
  if (nature.at_once) {
    const OfRound& sums = RoundOf(round_pairs_);
    return add(sums.score, sums.sure);
  }
  for (const Cluster& pair : round_pairs_) {
    const Sums& sums = PairOf(pair, KeyOf(pair)).apart;
    add(sums, sums);
  }
}

bool Scorer::Affects(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (hypothesis.way == Way::kBoth || !readings_.OneWay(observation)) return true;
  return hypothesis.way == Way::kOut ? passages_.Leaves(hypothesis.part, observation)
                                     : passages_.Enters(hypothesis.part, observation);
}

bool Scorer::Explains(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (!Affects(hypothesis, observation)) return false;
  if (hypothesis.fit.level <= readings_.LevelOf(observation)) return false;
  const double share = kShares[hypothesis.fit.share];
  if (share == 1) return true;
  return std::log(share / (1 - share)) + readings_.Gain(observation, hypothesis.fit.level) > 0;
}

Fit Scorer::BestFit(const Part& part, Way way, Cluster through) {
  const Nature nature = NatureOf(part.kind);
  const auto observations = passages_.observations();
  Total total;
  for (std::size_t begin = 0; begin < through.size();) {
    const std::uint32_t round = observations[through[begin]].round;
    std::size_t end = begin + 1;
    while (end < through.size() && observations[through[end]].round == round) ++end;
    AddRound(part, through.subspan(begin, end - begin), total);
    begin = end;
  }
  Fit best;
  for (std::size_t n = 0; n < nature.shares; ++n) {
    const std::size_t share = nature.first_share + n;
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      if (total.score[share][worse] <= best.score) continue;
      best = {total.score[share][worse], total.sure[share][worse],
              static_cast<std::uint8_t>(worse + 1), static_cast<std::uint8_t>(share)};
    }
  }
  const double prior = LogPrior(part) + LogPriorOf(way);
  best.score += prior + counters_.LogOdds(part, readings_.channel());
  best.sure += prior;
  return best;
}

double Scorer::LogOddsOfWay(const Hypothesis& hypothesis) {
  const Nature nature = NatureOf(hypothesis.part.kind);
  Sums sums{};
  for (const std::uint32_t observation : passages_.Through(hypothesis.part)) {
    if (!readings_.Has(observation) || !Affects(hypothesis, observation)) continue;
    const OfOne& one = MixedOf(observation);
    for (std::size_t share = 0; share < kShares.size(); ++share)
      for (std::size_t worse = 0; worse < kWorse; ++worse)
        sums[share][worse] += one.good[share][worse] + one.bad[share][worse];
  }
  double best = -1e18;
  for (std::size_t n = 0; n < nature.shares; ++n)
    for (const double gain : sums[nature.first_share + n]) best = std::max(best, gain);
  return best + LogPriorOf(hypothesis.way);
}

double Scorer::LogPrior(const Part& part) const {
  return std::log(expected_.contains(part) ? kExpected : NatureOf(part.kind).prior);
}

std::vector<Hypothesis> Scorer::Score(const Part& part) {
  std::vector<std::uint32_t> through;
  bool one_way = false;
  for (const std::uint32_t observation : passages_.Through(part)) {
    if (!readings_.Has(observation)) continue;
    through.push_back(observation);
    one_way = one_way || readings_.OneWay(observation);
  }
  std::vector<Hypothesis> result;
  result.push_back({part, Way::kBoth, BestFit(part, Way::kBoth, through)});
  if (!one_way || !Passages::HasWays(part)) return result;
  for (const Way way : {Way::kOut, Way::kIn}) {
    Hypothesis hypothesis{part, way, {}};
    std::vector<std::uint32_t> affected;
    for (const std::uint32_t observation : through)
      if (Affects(hypothesis, observation)) affected.push_back(observation);
    hypothesis.fit = BestFit(part, way, affected);
    result.push_back(hypothesis);
  }
  return result;
}

}  // namespace fabric::blame
