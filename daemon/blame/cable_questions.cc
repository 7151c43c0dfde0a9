#include "daemon/blame/cable_questions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "daemon/blame/path_parts.h"

namespace fabric::blame {
namespace {

constexpr std::size_t kGroupsMax = 8;
constexpr std::size_t kSuspectsMax = 64;      // Of a group
constexpr double kSuspectFrom = 1e-3;         // Probability within the group
constexpr double kChanceAbove = -7;           // Log odds of the group, to chance
constexpr std::size_t kPairsOfPart = 48;      // That are looked at, for each suspect
constexpr std::size_t kPairsOfAQuestion = 3;  // Pairs over the same suspects in a round
constexpr double kInformationMin = 1e-3;      // Nats

struct PartSuspect {
  double bad = 0;      // Probability that it is the bad part and makes a probe bad
  double entropy = 0;  // Of a probe of it, with its probability
};
// Parts that explain the same lost packets.
using SuspectGroup = std::unordered_map<PartKey, PartSuspect>;

// A flow from any endpoint of a leaf.
struct LeafFlow {
  std::uint32_t leaf = 0;
  std::uint32_t to = 0;
};

class PairChooser {
 public:
  PairChooser(const Fabric& fabric, std::span<const Observation> observations,
              std::span<const std::uint32_t> usable, std::uint64_t seed)
      : fabric_(fabric), observations_(observations), paths_(fabric, observations), random_(seed) {
    const auto add = [&](std::uint32_t endpoint) {
      const std::optional<std::uint32_t> leaf = fabric.routes.LeafOf(endpoint);
      if (!leaf) return;
      ends_.push_back(endpoint);
      leaves_[*leaf].push_back(endpoint);
    };
    if (usable.empty()) {
      for (std::uint32_t i = 0; i < fabric.endpoints.size(); ++i) add(i);
    } else {
      for (const std::uint32_t endpoint : usable) add(endpoint);
    }
    std::ranges::sort(ends_);
  }

  std::vector<ProbeRequest> Choose() {
    FindGroups();
    if (groups_.empty() || ends_.size() < 2) return {};
    FindFlows();
    std::vector<ProbeRequest> chosen;
    for (const SuspectGroup& group : groups_) ChooseFor(group, chosen);
    return chosen;
  }

 private:
  struct Question {
    ProbeRequest pair;
    double information = 0;
    std::vector<PartKey> suspects;
  };

  // The parts that explain the same losses as the likeliest one, then those of the other losses.
  void FindGroups() {
    for (std::size_t i = 0; i < kGroupsMax; ++i) {
      const PartTallies tallies = paths_.Count();
      if (tallies.empty()) return;
      const BestPart best = FindBest(fabric_.routes, tallies);
      std::unordered_set<PartKey> near;
      for (std::size_t at = 0; at < observations_.size(); ++at) {
        if (!paths_.Counts(at) || !paths_.IsBad(at)) continue;
        const std::vector<PartKey>& parts = paths_.PartsOf(at);
        if (!std::ranges::binary_search(parts, best.object)) continue;
        near.insert(parts.begin(), parts.end());
        paths_.Skip(at);
      }
      if (near.empty()) return;
      SuspectGroup group = GroupOf(near, tallies);
      if (!group.empty()) groups_.push_back(std::move(group));
    }
  }

  static SuspectGroup GroupOf(const std::unordered_set<PartKey>& parts,
                              const PartTallies& tallies) {
    std::vector<std::pair<double, PartKey>> weights;
    double total = -1e300;
    for (const PartKey key : parts) {
      weights.emplace_back(PriorOf(PartOf(key)) + LogOddsOf(tallies.at(key)), key);
      total = AddLogs(total, weights.back().first);
    }
    if (total < kChanceAbove) return {};
    std::ranges::sort(weights, std::greater());
    if (weights.size() > kSuspectsMax) weights.resize(kSuspectsMax);
    SuspectGroup group;
    for (const auto& [weight, key] : weights) {
      const double probability = std::exp(weight - total);
      if (probability < kSuspectFrom) break;
      const ShareOfBad expected = ExpectedShareOf(tallies.at(key));
      group[key] = {.bad = probability * expected.share, .entropy = probability * expected.entropy};
    }
    return group;
  }

  static void AddChannels(const Fabric& fabric, PartKey key, std::set<ChannelId>& channels) {
    const ChannelId channel = IndexIn(key);
    if (PartOf(key) != Part::kDirection && PartOf(key) != Part::kCable) return;
    channels.insert(channel);
    if (PartOf(key) == Part::kCable) channels.insert(fabric.routes.Reverse(channel));
  }

  // Flows over the channels that are suspicious, some of each.
  void FindFlows() {
    std::set<ChannelId> wanted;
    for (const SuspectGroup& group : groups_)
      for (const auto& entry : group) AddChannels(fabric_, entry.first, wanted);
    std::vector<std::uint32_t> seen(fabric_.routes.channels());
    std::vector<bool> is_wanted(fabric_.routes.channels());
    for (const ChannelId channel : wanted) is_wanted[channel] = true;
    std::vector<ChannelId> channels;
    for (const auto& [leaf, under] : leaves_)
      for (const std::uint32_t to : ends_) {
        channels.clear();
        fabric_.routes.AddPath(under.front(), to, channels);
        for (const ChannelId channel : channels)
          if (is_wanted[channel]) Sample(channel, {.leaf = leaf, .to = to}, seen[channel]);
      }
  }

  // Each flow over the channel has the same chance to be in the sample.
  void Sample(ChannelId channel, LeafFlow flow, std::uint32_t& seen) {
    std::vector<LeafFlow>& flows = flows_[channel];
    ++seen;
    if (flows.size() < kPairsOfPart) {
      flows.push_back(flow);
    } else if (const std::size_t at = random_() % seen; at < kPairsOfPart) {
      flows[at] = flow;
    }
  }

  void Ask(const SuspectGroup& group, std::uint32_t from, std::uint32_t to,
           std::vector<Question>& questions) {
    if (fabric_.endpoints[from].node == fabric_.endpoints[to].node) return;
    Question question{.pair = {.from = from, .to = to}};
    double bad = 0;
    double entropy = 0;
    for (const PartKey key : paths_.PartsOf(from, to, false))
      if (const auto at = group.find(key); at != group.end()) {
        bad += at->second.bad;
        entropy += at->second.entropy;
        question.suspects.push_back(key);
      }
    question.information = EntropyOf(std::min(bad, 1.0)) - entropy;
    if (question.information >= kInformationMin) questions.push_back(std::move(question));
  }

  void ChooseFor(const SuspectGroup& group, std::vector<ProbeRequest>& chosen) {
    std::vector<Question> questions;
    std::set<ChannelId> channels;
    std::vector<std::uint32_t> suspects;
    for (const auto& entry : group) {
      AddChannels(fabric_, entry.first, channels);
      if (PartOf(entry.first) == Part::kEndpoint) suspects.push_back(IndexIn(entry.first));
    }
    std::ranges::sort(suspects);
    for (const ChannelId channel : channels)
      for (const LeafFlow& flow : flows_[channel]) {
        const std::vector<std::uint32_t>& under = leaves_[flow.leaf];
        Ask(group, under[random_() % under.size()], flow.to, questions);
      }
    for (const std::uint32_t endpoint : suspects) {
      if (!std::ranges::binary_search(ends_, endpoint)) continue;
      for (std::size_t i = 0; i < kPairsOfPart; ++i)
        Ask(group, ends_[random_() % ends_.size()], endpoint, questions);
    }
    TakeBest(std::move(questions), chosen);
  }

  void TakeBest(std::vector<Question> questions, std::vector<ProbeRequest>& chosen) {
    std::ranges::stable_sort(questions, [](const Question& a, const Question& b) {
      return a.information > b.information;
    });
    std::map<std::vector<PartKey>, std::size_t> asked;
    for (const Question& question : questions) {
      const ProbeRequest& pair = question.pair;
      if (taken_.contains(pair.from) || taken_.contains(pair.to)) continue;
      if (asked[question.suspects]++ >= kPairsOfAQuestion) continue;
      taken_.insert({pair.from, pair.to});
      chosen.push_back(pair);
    }
  }

  const Fabric& fabric_;
  std::span<const Observation> observations_;
  PathParts paths_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> ends_;  // Sorted, like the endpoints
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaves_;
  std::vector<SuspectGroup> groups_;
  std::unordered_map<ChannelId, std::vector<LeafFlow>> flows_;
  std::set<std::uint32_t> taken_;
};

}  // namespace

std::vector<ProbeRequest> PairsForSuspects(const Fabric& fabric,
                                           std::span<const Observation> observations,
                                           std::span<const std::uint32_t> usable,
                                           std::uint64_t seed) {
  if (fabric.routes.empty()) return {};
  return PairChooser(fabric, observations, usable, seed).Choose();
}

}  // namespace fabric::blame
