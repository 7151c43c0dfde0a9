#include "tests/unit/blame/cable_pairs.h"

#include <algorithm>
#include <random>
#include <unordered_map>

namespace fabric::blame {
namespace {

// Partners that are tried for an endpoint.
constexpr std::size_t kTried = 48;
constexpr double kSuspiciousValue =
    40;  // Value of a channel of a bad probe, against one not passed

struct ChannelTally {
  std::uint32_t bad = 0;
  std::uint32_t good = 0;
};

class Round {
 public:
  Round(const Fabric& fabric, std::span<const Observation> observations) : routes_(fabric.routes) {
    for (const Observation& each : observations) {
      if (each.attempts == 0 || each.failed_end) continue;
      for (const ChannelId channel : ChannelsOf(each.from, each.to))
        ++(each.failures > 0 ? seen_[channel].bad : seen_[channel].good);
    }
  }

  // What the pair would show.
  double ValueOf(std::uint32_t a, std::uint32_t b) {
    double value = 0;
    std::size_t suspicious = 0;
    for (const ChannelId channel : ChannelsOf(a, b)) {
      const auto at = seen_.find(channel);
      if (at == seen_.end()) {
        value += 1;
        continue;
      }
      // Good probes clear a channel, unless it is bad for some of its flows only.
      if (at->second.bad > 0 && at->second.bad * 4 >= at->second.good) ++suspicious;
    }
    // A pair with one suspicious channel decides about it; one with all of them repeats a result.
    if (suspicious > 0) value += kSuspiciousValue / static_cast<double>(suspicious);
    return value;
  }

  void Take(std::uint32_t a, std::uint32_t b) {
    for (const ChannelId channel : ChannelsOf(a, b)) ++seen_[channel].good;
  }

 private:
  const std::vector<ChannelId>& ChannelsOf(std::uint32_t a, std::uint32_t b) {
    channels_.clear();
    if (routes_.AddPath(a, b, channels_)) routes_.AddPath(b, a, channels_);
    return channels_;
  }

  const ExactRoutes& routes_;
  std::unordered_map<ChannelId, ChannelTally> seen_;
  std::vector<ChannelId> channels_;
};

}  // namespace

std::vector<ProbeRequest> PairsForCables(const Fabric& fabric,
                                         std::span<const Observation> observations,
                                         std::span<const std::uint32_t> usable,
                                         std::uint64_t seed) {
  std::vector<ProbeRequest> pairs;
  if (fabric.routes.empty()) return pairs;
  std::vector<std::uint32_t> left(usable.begin(), usable.end());
  if (left.empty())
    for (std::uint32_t i = 0; i < fabric.endpoints.size(); ++i) left.push_back(i);
  std::mt19937_64 random(seed);
  for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random() % i]);
  Round round(fabric, observations);
  while (left.size() >= 2) {
    const std::uint32_t from = left.back();
    left.pop_back();
    std::size_t best = left.size();
    double best_value = 0;
    const std::size_t tried = std::min(kTried, left.size());
    const std::size_t begin = random() % left.size();
    for (std::size_t i = 0; i < tried; ++i) {
      const std::size_t at = (begin + i) % left.size();
      const double value = round.ValueOf(from, left[at]);
      if (value > best_value) {
        best = at;
        best_value = value;
      }
    }
    if (best == left.size()) continue;
    const std::uint32_t to = left[best];
    left[best] = left.back();
    left.pop_back();
    round.Take(from, to);
    pairs.push_back({.from = from, .to = to});
  }
  return pairs;
}

}  // namespace fabric::blame
