#include "daemon/blame/transients.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

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

}  // namespace

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
