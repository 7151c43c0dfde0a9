#include "daemon/blame/cable_pairs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

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
  double ValueOf(std::uint32_t a, std::uint32_t b) {
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
    // A pair with one suspicious channel decides about it; one with all of them repeats a result.
    if (suspicious > 0) value += kSuspiciousValue / static_cast<double>(suspicious);
    if (value > 0 && fabric_.endpoints[a].rail == fabric_.endpoints[b].rail)
      value += kSameRailValue;
    return value;
  }

  // Pairs of one round, at most `most`. They count as good.
  std::vector<ProbeRequest> TakeRound(std::vector<std::uint32_t> left, std::size_t most,
                                      Numbers& random);

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
                                                    std::size_t most, Numbers& random) {
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
      const double value = ValueOf(from, left[at]);
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

// A flow over a channel, from any endpoint of a leaf, and the number of these flows. 0: no route
// uses the channel.
struct ChannelUser {
  std::uint32_t leaf = 0;
  std::uint32_t to = 0;
  std::uint32_t flows = 0;
};

// The path of a pair depends on the leaf of its first end only.
class ChannelUsers {
 public:
  ChannelUsers(const Fabric& fabric, std::span<const std::uint32_t> ends)
      : fabric_(fabric), users_(fabric.routes.channels()) {
    for (const std::uint32_t end : ends) leaves_[*fabric.routes.LeafOf(end)].push_back(end);
    std::vector<ChannelId> channels;
    for (const auto& [leaf, under] : leaves_)
      for (const std::uint32_t to : ends) {
        if (!FromOf({.leaf = leaf, .to = to}, [](std::uint32_t) { return true; })) continue;
        channels.clear();
        fabric.routes.AddPath(under.front(), to, channels);
        for (const ChannelId channel : channels) {
          ChannelUser& user = users_[channel];
          if (user.flows++ == 0) user = {.leaf = leaf, .to = to, .flows = 1};
        }
      }
    for (ChannelId channel = 0; channel < users_.size(); ++channel)
      if (users_[channel].flows > 0) used_.push_back(channel);
    std::ranges::stable_sort(
        used_, [&](ChannelId a, ChannelId b) { return users_[a].flows < users_[b].flows; });
  }

  const std::vector<ChannelId>& used() const { return used_; }  // Those with few flows first
  const ChannelUser& Of(ChannelId channel) const { return users_[channel]; }

  // An endpoint of the leaf, on another node than the other end.
  template <class IsFree>
  std::optional<std::uint32_t> FromOf(const ChannelUser& user, const IsFree& is_free) const {
    for (const std::uint32_t end : leaves_.at(user.leaf))
      if (fabric_.endpoints[end].node != fabric_.endpoints[user.to].node && is_free(end))
        return end;
    return std::nullopt;
  }

 private:
  const Fabric& fabric_;
  std::vector<ChannelUser> users_;
  std::vector<ChannelId> used_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaves_;
};

// Pairs of one round, at most `most`: first over channels that few flows use (all channels, if few
// are left) and that no probe has passed, then free ones. They count as good.
std::vector<ProbeRequest> CoverRound(const ChannelUsers& users, ChannelTallies& tallies,
                                     const std::vector<std::uint32_t>& ends, std::size_t most,
                                     Numbers& random) {
  constexpr std::uint32_t kFewFlows = 64;
  const auto open = static_cast<std::size_t>(std::ranges::count_if(
      users.used(), [&](ChannelId channel) { return !tallies.IsSeen(channel); }));
  std::vector<ProbeRequest> pairs;
  std::set<std::uint32_t> left(ends.begin(), ends.end());
  const auto is_free = [&](std::uint32_t end) { return left.contains(end); };
  for (const ChannelId channel : users.used()) {
    const ChannelUser& user = users.Of(channel);
    if ((user.flows > kFewFlows && open > ends.size() / 2) || pairs.size() == most) break;
    if (tallies.IsSeen(channel) || !is_free(user.to)) continue;
    const std::optional<std::uint32_t> from = users.FromOf(user, is_free);
    if (!from) continue;
    left.erase(*from);
    left.erase(user.to);
    tallies.AddGood(*from, user.to);
    pairs.push_back({.from = *from, .to = user.to});
  }
  const std::vector<ProbeRequest> more =
      tallies.TakeRound({left.begin(), left.end()}, most - pairs.size(), random);
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
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

void CountCables(const Fabric& fabric, const ChannelUsers& users, const ChannelTallies& tallies,
                 CableCover& cover) {
  const ExactRoutes& routes = fabric.routes;
  for (ChannelId channel = 0; channel < routes.channels(); ++channel) {
    if (!routes.IsCable(channel) || routes.CableOf(channel) != channel) continue;
    ++cover.cables;
    const ChannelId back = routes.Reverse(channel);
    const auto is_open = [&](ChannelId each) {
      return users.Of(each).flows > 0 && !tallies.IsSeen(each);
    };
    if (users.Of(channel).flows == 0 && users.Of(back).flows == 0)
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
                                         std::span<const std::uint32_t> usable,
                                         std::uint64_t seed) {
  if (fabric.routes.empty()) return {};
  ChannelTallies tallies(fabric);
  tallies.Add(observations);
  Numbers random(seed);
  const std::vector<std::uint32_t> ends = PlacedOf(fabric, usable);
  return CoverRound(ChannelUsers(fabric, ends), tallies, ends, ends.size() / 2, random);
}

CableCover CoverCables(const Fabric& fabric, std::span<const std::uint32_t> usable,
                       std::size_t pairs_max, std::uint64_t seed) {
  CableCover cover;
  if (fabric.routes.empty()) return cover;
  const std::vector<std::uint32_t> ends = PlacedOf(fabric, usable);
  const ChannelUsers users(fabric, ends);
  ChannelTallies tallies(fabric);
  Numbers random(seed);
  std::size_t pairs = 0;
  const auto seen = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(
        users.used(), [&](ChannelId channel) { return tallies.IsSeen(channel); }));
  };
  // Rounds that choose freely, while they pass many new channels for their pairs.
  for (std::size_t before = 0, now = 0; now < users.used().size() && pairs < pairs_max;
       before = now) {
    std::vector<ProbeRequest> round = CoverRound(users, tallies, ends, pairs_max - pairs, random);
    if (round.empty()) break;
    pairs += round.size();
    cover.rounds.push_back(std::move(round));
    now = seen();
    if (now < before + cover.rounds.back().size()) break;
  }
  RoundPacker packer(cover.rounds);
  for (const ChannelId channel : users.used()) {
    if (pairs >= pairs_max) break;
    if (tallies.IsSeen(channel)) continue;
    const ChannelUser& user = users.Of(channel);
    const std::uint32_t from = *users.FromOf(user, [](std::uint32_t) { return true; });
    packer.Add({.from = from, .to = user.to});
    tallies.AddGood(from, user.to);
    ++pairs;
  }
  CountCables(fabric, users, tallies, cover);
  return cover;
}

CablesLeft UnpassedCables(const Fabric& fabric, std::span<const Observation> observations,
                          std::span<const std::uint32_t> usable) {
  if (fabric.routes.empty()) return {};
  ChannelTallies tallies(fabric);
  tallies.Add(observations);
  CableCover cover;
  CountCables(fabric, ChannelUsers(fabric, PlacedOf(fabric, usable)), tallies, cover);
  return {.used = cover.cables - cover.unused.size(), .names = std::move(cover.left_out)};
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
