#include "daemon/blame/transients.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "daemon/blame/fault.h"

namespace fabric::blame {
namespace {

constexpr double kRateMax = 0.5;
constexpr double kUsualWeight = 200;  // Number of pairs that `usual` counts as
constexpr double kSurely = 1.5;       // By which the number of bad pairs is surely higher
constexpr std::size_t kWorstMin = 2;  // Minimum number of hosts that are left out
constexpr double kWorstPart = 0.05;

struct BadPair {
  std::uint32_t round = 0;
  std::uint32_t from = 0;  // Node
  std::uint32_t to = 0;

  friend auto operator<=>(const BadPair&, const BadPair&) = default;
};

constexpr double kClearlyBad = 5;  // Badness of an observation that must be followed up

}  // namespace

std::vector<std::uint32_t> TransientObservations(const ObservationPaths& paths,
                                                 const ExplainedLevels& levels,
                                                 std::span<const std::uint32_t> bad,
                                                 std::span<const Hypothesis> chosen) {
  std::set<std::uint32_t> result;
  for (const std::uint32_t i : bad)
    if (levels.Unexplained(i) > kTransientBad) result.insert(i);
  // Low bandwidth of some flows of several leaves: their paths are shared by chance.
  const bool collisions =
      levels.channel() == Channel::kSpeed &&
      std::count_if(chosen.begin(), chosen.end(), [](const Hypothesis& hypothesis) {
        return hypothesis.fit.share > 0 && !MayPause(hypothesis.component);
      }) > 1;
  for (const Hypothesis& hypothesis : chosen) {
    if (hypothesis.fit.share == 0 || !(MayPause(hypothesis.component) || collisions)) continue;
    for (const std::uint32_t i : paths.Through(hypothesis.component))
      if (levels.Has(i) && levels.LevelOf(i) > 0 && levels.Badness(i) > kTransientBad)
        result.insert(i);
  }
  return {result.begin(), result.end()};
}

std::vector<Component> OddPairs(const ObservationPaths& paths, const ExplainedLevels& levels,
                                std::span<const std::uint32_t> bad) {
  std::set<Component> odd;
  for (const std::uint32_t i : bad) {
    if (levels.Unexplained(i) < kClearlyBad) continue;
    const Observation& seen = paths.observations()[i];
    if (seen.failed_end || seen.from == seen.to) continue;
    const auto [low, high] = std::minmax(seen.from, seen.to);
    const Component pair{ComponentKind::kPair, low, high};
    const std::vector<std::uint32_t> all = paths.Through(pair);
    const bool good_since = std::any_of(all.begin(), all.end(), [&](std::uint32_t other) {
      return paths.observations()[other].round > seen.round && levels.Has(other) &&
             levels.Badness(other) <= levels.BadMin(other);
    });
    if (!good_since) odd.insert(pair);
  }
  return {odd.begin(), odd.end()};
}

double TransientRate(const ObservationPaths& paths, std::span<const std::uint32_t> bad,
                     double usual) {
  std::set<BadPair> pairs;
  std::map<std::uint32_t, std::size_t> pairs_of_node;
  for (const std::uint32_t i : bad) {
    const Observation& seen = paths.observations()[i];
    const auto [from, to] = std::minmax({paths.NodeOf(seen.from), paths.NodeOf(seen.to)});
    if (!pairs.insert({seen.round, from, to}).second) continue;
    ++pairs_of_node[from];
    if (to != from) ++pairs_of_node[to];
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> rounds;  // Node and round
  for (const BadPair& pair : pairs) {
    const bool at_from = pairs_of_node.at(pair.from) >= pairs_of_node.at(pair.to);
    rounds.emplace(at_from ? pair.from : pair.to, pair.round);
  }
  std::map<std::uint32_t, std::size_t> rounds_of_node;
  for (const auto& [node, round] : rounds) ++rounds_of_node[node];
  std::vector<std::pair<std::size_t, std::uint32_t>> worst_first;
  for (const auto& [node, count] : rounds_of_node) worst_first.emplace_back(count, node);
  std::sort(worst_first.rbegin(), worst_first.rend());
  const auto part =
      static_cast<std::size_t>(kWorstPart * static_cast<double>(paths.ObservedNodes()));
  std::size_t left_out = std::max(kWorstMin, part);
  auto all = static_cast<double>(paths.NodeRounds());
  double transient = 0;
  for (const auto& [count, node] : worst_first) {
    if (left_out > 0) {
      --left_out;
      all -= static_cast<double>(paths.RoundsOf(node));
    } else {
      transient += static_cast<double>(count);
    }
  }
  // A few odd pairs do not make a rate.
  const double surely = std::max(0.0, transient - kSurely * std::sqrt(transient));
  // Each pair has two hosts.
  const double learned = (2 * surely + usual * kUsualWeight) / (all + kUsualWeight);
  return std::clamp(learned, usual, kRateMax);
}

}  // namespace fabric::blame
