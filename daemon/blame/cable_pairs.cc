#include "daemon/blame/cable_pairs.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/lists.h"
#include "base/text.h"
#include "proto/coverage.h"

namespace fabric::blame {
namespace {

// Partners that are tried for an endpoint.
constexpr std::size_t kTried = 48;
// Value of a channel of a bad probe, against one that was not passed.
constexpr double kSuspiciousValue = 40;
constexpr double kSameRailValue = 0.5;

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::size_t Below(std::size_t limit) {
    return SplitMix(std::exchange(state_, state_ + kGoldenRatio)) % limit;
  }

 private:
  std::uint64_t state_;
};

// What probes have shown of each channel, and which pairs would show more.
class ChannelTallies {
 public:
  explicit ChannelTallies(const Fabric& fabric)
      : fabric_(fabric), routes_(fabric.routes), seen_(routes_.channels()) {}

  void Add(std::span<const Observation> observations) {
    for (const Observation& each : observations) {
      if (each.attempts == 0 || each.failed_end) continue;
      for (const ChannelId channel : ChannelsOf(each.from, each.to))
        ++(each.failures > 0 ? seen_[channel].bad : seen_[channel].good);
    }
  }
  void AddGood(std::uint32_t a, std::uint32_t b) {
    for (const ChannelId channel : ChannelsOf(a, b)) ++seen_[channel].good;
  }
  bool IsSeen(ChannelId channel) const { return seen_[channel].good > 0 || seen_[channel].bad > 0; }

  // What the pair would show. 0: nothing.
  double ValueOf(std::uint32_t a, std::uint32_t b, CableAim aim) {
    if (fabric_.endpoints[a].node == fabric_.endpoints[b].node) return 0;
    double value = 0;
    std::size_t suspicious = 0;
    for (const ChannelId channel : ChannelsOf(a, b)) {
      const Tally& seen = seen_[channel];
      if (!IsSeen(channel)) {
        value += 1;
        continue;
      }
      // Good probes clear a channel, unless it is bad for some of its flows only.
      if (seen.bad > 0 && seen.bad * 4 >= seen.good) ++suspicious;
    }
    if (aim == CableAim::kSuspicious && suspicious == 0) return 0;
    // A pair with one suspicious channel decides about it; one with all of them repeats a result.
    if (suspicious > 0) value += kSuspiciousValue / static_cast<double>(suspicious);
    if (value > 0 && fabric_.endpoints[a].rail == fabric_.endpoints[b].rail)
      value += kSameRailValue;
    return value;
  }

  // Pairs of one round, at most `most`. They count as good.
  std::vector<ProbeRequest> TakeRound(std::vector<std::uint32_t> left, std::size_t most,
                                      CableAim aim, Numbers& random);

 private:
  struct Tally {
    std::uint32_t bad = 0;
    std::uint32_t good = 0;
  };

  const std::vector<ChannelId>& ChannelsOf(std::uint32_t a, std::uint32_t b) {
    channels_.clear();
    if (routes_.AddPath(a, b, channels_)) routes_.AddPath(b, a, channels_);
    return channels_;
  }

  const Fabric& fabric_;
  const ExactRoutes& routes_;
  std::vector<Tally> seen_;
  std::vector<ChannelId> channels_;
};

std::vector<ProbeRequest> ChannelTallies::TakeRound(std::vector<std::uint32_t> left,
                                                    std::size_t most, CableAim aim,
                                                    Numbers& random) {
  std::vector<ProbeRequest> pairs;
  for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random.Below(i)]);
  while (left.size() >= 2 && pairs.size() < most) {
    const std::uint32_t from = left.back();
    left.pop_back();
    std::size_t best = left.size();
    double best_value = 0;
    const std::size_t tried = std::min(kTried, left.size());
    const std::size_t begin = random.Below(left.size());
    for (std::size_t i = 0; i < tried; ++i) {
      const std::size_t at = (begin + i) % left.size();
      const double value = ValueOf(from, left[at], aim);
      if (value > best_value) {
        best = at;
        best_value = value;
      }
    }
    if (best == left.size()) continue;
    const std::uint32_t to = left[best];
    left[best] = left.back();
    left.pop_back();
    AddGood(from, to);
    pairs.push_back({.from = from, .to = to});
  }
  return pairs;
}

// Endpoints whose place in the subnet is known.
std::vector<std::uint32_t> PlacedOf(const Fabric& fabric, std::span<const std::uint32_t> usable) {
  std::vector<std::uint32_t> placed;
  const auto add = [&](std::uint32_t endpoint) {
    if (fabric.routes.LeafOf(endpoint)) placed.push_back(endpoint);
  };
  if (usable.empty()) {
    for (std::uint32_t i = 0; i < fabric.endpoints.size(); ++i) add(i);
  } else {
    for (const std::uint32_t endpoint : usable) add(endpoint);
  }
  return placed;
}

// For each channel, a pair whose path it is on; from == to: no route uses it. The path of a pair
// depends on the leaf of its first end only, so that two ends of different nodes stand for a leaf.
std::vector<ProbeRequest> FindUsers(const Fabric& fabric, std::span<const std::uint32_t> ends) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaves;
  for (const std::uint32_t end : ends) {
    std::vector<std::uint32_t>& under = leaves[*fabric.routes.LeafOf(end)];
    if (under.empty() ||
        (under.size() == 1 && fabric.endpoints[under[0]].node != fabric.endpoints[end].node))
      under.push_back(end);
  }
  std::vector<ProbeRequest> users(fabric.routes.channels());
  std::vector<ChannelId> channels;
  for (const std::uint32_t to : ends)
    for (const auto& entry : leaves) {
      const auto& under = entry.second;
      const auto from = std::ranges::find_if(under, [&](std::uint32_t end) {
        return fabric.endpoints[end].node != fabric.endpoints[to].node;
      });
      if (from == under.end()) continue;
      channels.clear();
      fabric.routes.AddPath(*from, to, channels);
      for (const ChannelId channel : channels)
        if (users[channel].from == users[channel].to) users[channel] = {.from = *from, .to = to};
    }
  return users;
}

// Adds the pair to the first round from `first` in which both ends are free.
class RoundPacker {
 public:
  RoundPacker(std::vector<std::vector<ProbeRequest>>& rounds)
      : rounds_(rounds), first_(rounds.size()) {}

  void Add(const ProbeRequest& pair) {
    std::size_t at = 0;
    while (at < taken_.size() && (taken_[at].contains(pair.from) || taken_[at].contains(pair.to)))
      ++at;
    if (at == taken_.size()) {
      taken_.emplace_back();
      rounds_.emplace_back();
    }
    taken_[at].insert({pair.from, pair.to});
    rounds_[first_ + at].push_back(pair);
  }

 private:
  std::vector<std::vector<ProbeRequest>>& rounds_;
  const std::size_t first_;
  std::vector<std::set<std::uint32_t>> taken_;
};

bool IsUsed(const ProbeRequest& user) {
  return user.from != user.to;
}

void CountCables(const Fabric& fabric, const std::vector<ProbeRequest>& users,
                 const ChannelTallies& tallies, CableCover& cover) {
  const ExactRoutes& routes = fabric.routes;
  for (ChannelId channel = 0; channel < routes.channels(); ++channel) {
    if (!routes.IsCable(channel) || routes.CableOf(channel) != channel) continue;
    ++cover.cables;
    const ChannelId back = routes.Reverse(channel);
    const auto is_open = [&](ChannelId each) {
      return IsUsed(users[each]) && !tallies.IsSeen(each);
    };
    if (!IsUsed(users[channel]) && !IsUsed(users[back]))
      cover.unused.push_back(Format("cable {}", routes.CableName(channel)));
    else if (is_open(channel) || is_open(back))
      cover.left_out.push_back(Format("cable {}", routes.CableName(channel)));
    else
      ++cover.passed;
  }
}

}  // namespace

std::vector<ProbeRequest> PairsForCables(const Fabric& fabric,
                                         std::span<const Observation> observations,
                                         std::span<const std::uint32_t> usable, std::uint64_t seed,
                                         CableAim aim) {
  if (fabric.routes.empty()) return {};
  ChannelTallies tallies(fabric);
  tallies.Add(observations);
  Numbers random(seed);
  std::vector<std::uint32_t> ends = PlacedOf(fabric, usable);
  const std::size_t most = ends.size() / 2;
  return tallies.TakeRound(std::move(ends), most, aim, random);
}

CableCover CoverCables(const Fabric& fabric, std::span<const std::uint32_t> usable,
                       std::size_t pairs_max, std::uint64_t seed) {
  CableCover cover;
  if (fabric.routes.empty()) return cover;
  const std::vector<std::uint32_t> ends = PlacedOf(fabric, usable);
  const std::vector<ProbeRequest> users = FindUsers(fabric, ends);
  const auto used = static_cast<std::size_t>(std::ranges::count_if(users, IsUsed));
  ChannelTallies tallies(fabric);
  Numbers random(seed);
  std::size_t pairs = 0;
  const auto seen = [&] {
    std::size_t count = 0;
    for (ChannelId channel = 0; channel < users.size(); ++channel)
      count += IsUsed(users[channel]) && tallies.IsSeen(channel) ? 1 : 0;
    return count;
  };
  // Rounds that choose freely, while they pass many new channels for their pairs.
  for (std::size_t before = 0, now = 0; now < used && pairs < pairs_max; before = now) {
    std::vector<ProbeRequest> round =
        tallies.TakeRound(ends, pairs_max - pairs, CableAim::kAll, random);
    if (round.empty()) break;
    pairs += round.size();
    cover.rounds.push_back(std::move(round));
    now = seen();
    if (now < before + cover.rounds.back().size()) break;
  }
  RoundPacker packer(cover.rounds);
  for (ChannelId channel = 0; channel < users.size() && pairs < pairs_max; ++channel) {
    if (!IsUsed(users[channel]) || tallies.IsSeen(channel)) continue;
    packer.Add(users[channel]);
    tallies.AddGood(users[channel].from, users[channel].to);
    ++pairs;
  }
  CountCables(fabric, users, tallies, cover);
  return cover;
}

Result<PortCover> CoverPorts(const Fabric& fabric, std::span<const v1::ProbePort> ports,
                             std::uint64_t seed) {
  // A campaign of more pairs takes hours; all cables of 100,000 nodes need fewer.
  constexpr std::size_t kPairsMax = 200'000;
  constexpr std::size_t kNamesShown = 8;
  if (fabric.routes.empty())
    return Status(Code::kFailedPrecondition,
                  "pattern: cables requires the forwarding tables of the InfiniBand subnet, and "
                  "none are known: let an agent read the subnet, or give the output of "
                  "ibnetdiscover with that of dump_lfts in infiniband-topology");
  PortCover cover;
  std::map<std::uint32_t, std::uint32_t> places;  // Index of the port by endpoint
  std::vector<std::uint32_t> usable;
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    const auto endpoint = Find(fabric, ports[i]);
    if (endpoint && fabric.routes.LeafOf(*endpoint)) {
      places.emplace(*endpoint, i);
      usable.push_back(*endpoint);
      continue;
    }
    cover.gaps.push_back(CoverageGapOf(ports[i], v1::COVERAGE_GAP_REASON_LOCATION_UNKNOWN,
                                       "not in an InfiniBand subnet with known routes"));
  }
  const CableCover found =
      usable.size() < 2 ? CableCover{} : CoverCables(fabric, usable, kPairsMax, seed);
  if (found.rounds.empty())
    return Status(Code::kFailedPrecondition,
                  Format("pattern: no route between these ports uses a cable between switches "
                         "({} of {} ports are in subnets with known routes)",
                         usable.size(), ports.size()));
  for (const auto& round : found.rounds) {
    auto& pairs = cover.rounds.emplace_back();
    for (const ProbeRequest& pair : round)
      pairs.emplace_back(places.at(pair.from), places.at(pair.to));
  }
  const auto add_gap = [&](const std::vector<std::string>& cables, std::string_view why) {
    if (cables.empty()) return;
    cover.gaps.push_back(
        CoverageGapOf(v1::COVERAGE_GAP_REASON_PAIRS_NOT_PROBED,
                      Format("{} of {} cables between switches are passed; {} {}: {}", found.passed,
                             found.cables, why, cables.size(), ListSome(cables, kNamesShown))));
  };
  add_gap(found.unused, "no route of these nodes uses");
  add_gap(found.left_out, Format("the limit of {} pairs leaves out", kPairsMax));
  return cover;
}

}  // namespace fabric::blame
