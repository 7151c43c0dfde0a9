#include "daemon/control/fleet_numbers.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace fabric::control {
namespace {

// Neighbouring bounds differ by 2 %, so that the middle of a bucket is within 1 % of its values.
const double kBucketStep = std::log(1.02);

// The pairs with the largest values, largest first.
void KeepWorst(std::vector<MeshNumbers::Pair>& pairs) {
  const std::size_t kept = std::min(pairs.size(), MeshNumbers::kWorstMax);
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(kept), pairs.end(),
                    [](const auto& a, const auto& b) { return a.value > b.value; });
  pairs.resize(kept);
}

void AddPings(const v1::MeshLeafPair& pair, PingCounts& counts) {
  counts.sent += pair.sent();
  counts.lost += pair.lost();
  counts.voided += pair.voided();
}

void AddLeaf(const std::string& leaf, const v1::MeshLeafPair& pair, MeshNumbers& numbers) {
  const auto at = numbers.leaves.find(leaf);
  if (at != numbers.leaves.end())
    AddPings(pair, at->second);
  else if (numbers.leaves.size() < MeshNumbers::kLeavesMax)
    AddPings(pair, numbers.leaves[leaf]);
  else
    ++numbers.leaves_omitted;
}

}  // namespace

void Distribution::Add(double value) {
  if (!std::isfinite(value) || value <= 0) return;
  ++buckets_[static_cast<std::int32_t>(std::floor(std::log(value) / kBucketStep))];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  ++count_;
}

double Distribution::Median() const {
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += count;
    if (seen <= count_ / 2) continue;
    const double middle = std::exp((bucket + 0.5) * kBucketStep);
    return std::clamp(middle, min_, max_);
  }
  return 0;
}

void AddResult(const v1::PairResult& result, CampaignNumbers& numbers) {
  constexpr std::size_t kRailsMax = 256;
  if (result.result().status() != v1::PROBE_STATUS_OK) return;
  const std::uint32_t rail = result.from().rail();
  if (numbers.size() >= kRailsMax && !numbers.contains(rail)) return;
  if (result.result().has_latency())
    numbers[rail].latency_us.Add(result.result().latency().median_us());
  if (result.result().has_bandwidth())
    numbers[rail].bandwidth_bps.Add(result.result().bandwidth().mean_bps());
}

MeshNumbers NumbersOf(const std::vector<v1::MeshLeafPair>& pairs) {
  MeshNumbers numbers;
  for (const v1::MeshLeafPair& pair : pairs) {
    const MeshNumbers::Pair named = {
        .from_leaf = std::string(Utf8Prefix(pair.from_leaf(), MeshNumbers::kNameBytesMax)),
        .to_leaf = std::string(Utf8Prefix(pair.to_leaf(), MeshNumbers::kNameBytesMax)),
        .rail = pair.rail()};
    if (numbers.rails.size() < MeshNumbers::kRailsMax || numbers.rails.contains(pair.rail())) {
      MeshNumbers::Rail& rail = numbers.rails[pair.rail()];
      AddPings(pair, rail.pings);
      if (pair.has_median_us()) rail.round_trip_us.Add(pair.median_us());
    }
    AddLeaf(named.from_leaf, pair, numbers);
    if (named.to_leaf != named.from_leaf) AddLeaf(named.to_leaf, pair, numbers);
    if (pair.lost() > 0 && pair.sent() > 0) {
      numbers.worst_loss.push_back(named);
      numbers.worst_loss.back().value =
          static_cast<double>(pair.lost()) / static_cast<double>(pair.sent());
    }
    if (pair.has_median_us()) {
      numbers.worst_round_trip.push_back(named);
      numbers.worst_round_trip.back().value = pair.median_us();
    }
    constexpr std::size_t kKeptMeanwhile = 1'000;
    if (numbers.worst_loss.size() > kKeptMeanwhile) KeepWorst(numbers.worst_loss);
    if (numbers.worst_round_trip.size() > kKeptMeanwhile) KeepWorst(numbers.worst_round_trip);
  }
  KeepWorst(numbers.worst_loss);
  KeepWorst(numbers.worst_round_trip);
  return numbers;
}

}  // namespace fabric::control
