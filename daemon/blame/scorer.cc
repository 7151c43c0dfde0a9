#include "daemon/blame/scorer.h"

#include <algorithm>
#include <cmath>

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
    case PartKind::kLeaf: return {5e-5, 2, 0, false};
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

}  // namespace

Scorer::Scorer(const Passages& passages, const Readings& readings)
    : passages_(passages),
      readings_(readings),
      passing_(PassingOf(readings.channel())),
      cache_(readings.kinds() * kLevels) {}

// What one cluster says is bounded: something may have passed by. A pause of a host, say, is bad
// with all its partners of that round, and is no fault.
double Scorer::Soften(double gain) const {
  if (gain < 0) return gain;
  return gain - std::log1p(passing_ * std::expm1(std::min(gain, 300.0)));
}

const Scorer::Sums& Scorer::SumsOf(std::uint32_t observation, bool softened) {
  const std::size_t level = readings_.LevelOf(observation);
  Cached& cached = cache_[readings_.KindOf(observation) * kLevels + level];
  if (!cached.known) {
    cached.known = true;
    const Likelihoods& likelihoods = readings_.Of(observation);
    for (std::size_t share = 0; share < kShares.size(); ++share) {
      for (std::size_t worse = 0; worse < kWorse; ++worse) {
        const double gain = likelihoods[std::max(level, worse + 1)] - likelihoods[level];
        cached.plain[share][worse] = Mixed(kShares[share], gain);
        cached.softened[share][worse] = Soften(cached.plain[share][worse]);
      }
    }
  }
  return softened ? cached.softened : cached.plain;
}

void Scorer::AddCluster(const Part& part, std::span<const std::uint32_t> cluster, Sums& sums) {
  const Nature nature = NatureOf(part.kind);
  if (cluster.size() == 1) {
    const Sums& one = SumsOf(cluster[0], true);
    for (std::size_t n = 0; n < nature.shares; ++n)
      for (std::size_t worse = 0; worse < kWorse; ++worse)
        sums[nature.first_share + n][worse] += one[nature.first_share + n][worse];
    return;
  }
  Sums all{};
  for (const std::uint32_t observation : cluster) {
    const Sums& one = SumsOf(observation, false);
    for (std::size_t n = 0; n < (nature.at_once ? 1 : nature.shares); ++n)
      for (std::size_t worse = 0; worse < kWorse; ++worse)
        all[nature.first_share + n][worse] += one[nature.first_share + n][worse];
  }
  for (std::size_t n = 0; n < nature.shares; ++n) {
    const std::size_t share = nature.first_share + n;
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      const double gain = nature.at_once ? Mixed(kShares[share], all[0][worse]) : all[share][worse];
      sums[share][worse] += Soften(gain);
    }
  }
}

bool Scorer::Affects(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (hypothesis.way == Way::kBoth || !readings_.OneWay(observation)) return true;
  return hypothesis.way == Way::kOut ? passages_.Leaves(hypothesis.part, observation)
                                     : passages_.Enters(hypothesis.part, observation);
}

bool Scorer::Explains(const Hypothesis& hypothesis, std::uint32_t observation) const {
  if (!Affects(hypothesis, observation)) return false;
  const std::size_t level = readings_.LevelOf(observation);
  if (hypothesis.fit.level <= level) return false;
  const double share = kShares[hypothesis.fit.share];
  if (share == 1) return true;
  const Likelihoods& likelihoods = readings_.Of(observation);
  return std::log(share / (1 - share)) + likelihoods[hypothesis.fit.level] - likelihoods[level] > 0;
}

Fit Scorer::BestFit(const Part& part, Way way, std::span<const std::uint32_t> through) {
  const Nature nature = NatureOf(part.kind);
  const auto observations = passages_.observations();
  const auto same_cluster = [&](const Observation& a, const Observation& b) {
    if (a.round != b.round) return false;
    return nature.at_once || std::minmax(a.from, a.to) == std::minmax(b.from, b.to);
  };
  Sums sums{};
  for (std::size_t begin = 0; begin < through.size();) {
    std::size_t end = begin + 1;
    while (end < through.size() &&
           same_cluster(observations[through[begin]], observations[through[end]]))
      ++end;
    AddCluster(part, through.subspan(begin, end - begin), sums);
    begin = end;
  }
  Fit best;
  for (std::size_t n = 0; n < nature.shares; ++n) {
    const std::size_t share = nature.first_share + n;
    for (std::size_t worse = 0; worse < kWorse; ++worse) {
      if (sums[share][worse] <= best.score) continue;
      best = {sums[share][worse], static_cast<std::uint8_t>(worse + 1),
              static_cast<std::uint8_t>(share)};
    }
  }
  best.score += LogPrior(part) + std::log(way == Way::kBoth ? 1 - 2 * kOneWay : kOneWay);
  return best;
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
