#include "daemon/blame/path_parts.h"

#include <algorithm>
#include <cmath>

namespace fabric::blame {
namespace {

// Probability that a probe of a healthy path loses a packet.
constexpr double kUsualLoss = 0.002;
// Probability that a bad probe of a bad part loses one packet only.
constexpr double kFaintShare = 0.1;
// A part with this share of the probability of the likeliest one is not distinguished from it.
constexpr double kAsLikely = 0.2;
constexpr std::uint32_t kFaintFrom = 50;  // Packets of a probe

// Shares of bad probes and their weights: most faults are there all the time.
struct WeightedShare {
  double share = 0;
  double weight = 0;
};
constexpr WeightedShare kShareWeights[] = {{0.999, 0.55}, {0.95, 0.15}, {0.8, 0.08}, {0.5, 0.08},
                                           {0.25, 0.06},  {0.1, 0.04},  {0.05, 0.04}};

double LogOddsAt(const WeightedShare& at, const PartTally& tally) {
  const auto bad = static_cast<double>(tally.bad);
  const auto faint = static_cast<double>(tally.faint);
  const auto good = static_cast<double>(tally.all - tally.bad);
  return std::log(at.weight) + bad * std::log(at.share / kUsualLoss) +
         faint * std::log(kFaintShare) + good * std::log((1 - at.share) / (1 - kUsualLoss));
}

// The cable for both of its directions.
PartKey ObjectOf(const ExactRoutes& routes, PartKey key) {
  if (PartOf(key) != Part::kDirection) return key;
  return PartKeyOf(Part::kCable, routes.CableOf(IndexIn(key)));
}

}  // namespace

bool PathParts::IsFaint(std::size_t index) const {
  return observations_[index].failures == 1 && observations_[index].attempts >= kFaintFrom;
}

const std::vector<PartKey>& PathParts::PartsOf(std::size_t index) {
  const Observation& seen = observations_[index];
  return PartsOf(seen.from, seen.to, seen.one_way);
}

const std::vector<PartKey>& PathParts::PartsOf(std::uint32_t from, std::uint32_t to, bool one_way) {
  parts_.clear();
  channels_.clear();
  if (!routes_.AddPath(from, to, channels_)) return parts_;
  if (!one_way && !routes_.AddPath(to, from, channels_)) return parts_;
  for (const ChannelId channel : channels_) {
    parts_.push_back(PartKeyOf(Part::kDirection, channel));
    parts_.push_back(PartKeyOf(Part::kCable, routes_.CableOf(channel)));
    parts_.push_back(PartKeyOf(Part::kSwitch, routes_.SwitchOf(channel)));
    parts_.push_back(PartKeyOf(Part::kSwitch, routes_.SwitchOf(routes_.Reverse(channel))));
  }
  // Within a leaf
  if (channels_.empty())
    if (const auto leaf = routes_.LeafOf(from)) parts_.push_back(PartKeyOf(Part::kSwitch, *leaf));
  parts_.push_back(PartKeyOf(Part::kEndpoint, from));
  parts_.push_back(PartKeyOf(Part::kEndpoint, to));
  std::ranges::sort(parts_);
  parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
  return parts_;
}

PartTallies PathParts::Count() {
  PartTallies tallies;
  for (std::size_t i = 0; i < observations_.size(); ++i)
    if (Counts(i) && IsBad(i))
      for (const PartKey key : PartsOf(i)) {
        ++tallies[key].bad;
        tallies[key].faint += IsFaint(i) ? 1 : 0;
      }
  if (tallies.empty()) return tallies;
  for (std::size_t i = 0; i < observations_.size(); ++i)
    if (Counts(i))
      for (const PartKey key : PartsOf(i))
        if (const auto at = tallies.find(key); at != tallies.end()) ++at->second.all;
  return tallies;
}

double AddLogs(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

double PriorOf(Part part) {
  switch (part) {
    case Part::kDirection: return std::log(5e-6);
    case Part::kCable: return std::log(1e-5);
    case Part::kSwitch: return std::log(1e-5);
    case Part::kEndpoint: return std::log(1e-4);
  }
  return 0;
}

double LogOddsOf(const PartTally& tally) {
  double sum = -1e300;
  for (const WeightedShare& at : kShareWeights) sum = AddLogs(sum, LogOddsAt(at, tally));
  return sum;
}

ShareOfBad ExpectedShareOf(const PartTally& tally) {
  const double sum = LogOddsOf(tally);
  ShareOfBad expected;
  for (const WeightedShare& at : kShareWeights) {
    const double probability = std::exp(LogOddsAt(at, tally) - sum);
    expected.share += probability * at.share;
    expected.entropy += probability * EntropyOf(at.share);
  }
  return expected;
}

double EntropyOf(double probability) {
  if (probability <= 0 || probability >= 1) return 0;
  return -probability * std::log(probability) - (1 - probability) * std::log(1 - probability);
}

BestPart FindBest(const ExactRoutes& routes, const PartTallies& tallies) {
  double total = 0;  // Chance
  std::unordered_map<PartKey, double> weights;
  for (const auto& [key, tally] : tallies) {
    const double weight = PriorOf(PartOf(key)) + LogOddsOf(tally);
    total = AddLogs(total, weight);
    const auto [at, fresh] = weights.emplace(ObjectOf(routes, key), weight);
    if (!fresh) at->second = AddLogs(at->second, weight);
  }
  BestPart best;
  for (const auto& [object, weight] : weights) {
    const double probability = std::exp(weight - total);
    if (probability > best.probability || (probability == best.probability && object < best.object))
      best = {.object = object, .probability = probability};
  }
  for (const auto& [object, weight] : weights)
    if (object != best.object && std::exp(weight - total) >= kAsLikely * best.probability)
      best.others.emplace_back(object, std::exp(weight - total));
  std::ranges::sort(best.others, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return best;
}

}  // namespace fabric::blame
