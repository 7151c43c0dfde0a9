#include "daemon/blame/parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fabric::blame {
namespace {

auto Order(const Observation& seen) {
  const auto [low, high] = std::minmax(seen.from, seen.to);
  return std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>(seen.round, low, high);
}

}  // namespace

Passages::Passages(const Fabric& fabric, std::span<const Observation> observations)
    : fabric_(&fabric) {
  observations_.reserve(observations.size());
  for (const Observation& seen : observations)
    if (seen.from < fabric.places.size() && seen.to < fabric.places.size())
      observations_.push_back(seen);
  const auto before = [](const Observation& a, const Observation& b) {
    return Order(a) < Order(b);
  };
  if (!std::is_sorted(observations_.begin(), observations_.end(), before))
    std::stable_sort(observations_.begin(), observations_.end(), before);
  Number();
  Index();
  Count();
}

void Passages::Number() {
  std::map<std::string, std::uint32_t> leaves;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < fabric_->places.size(); ++i) {
    const Place& place = fabric_->places[i];
    if (i > 0 && place.node != fabric_->places[i - 1].node) ++node;
    node_of_.push_back(node);
    if (place.leaf.empty()) {
      leaf_of_.push_back(kUnknown);
      continue;
    }
    const auto [at, fresh] =
        leaves.emplace(place.leaf, static_cast<std::uint32_t>(leaf_names_.size()));
    if (fresh) leaf_names_.push_back(place.leaf);
    leaf_of_.push_back(at->second);
  }
}

void Passages::Index() {
  const std::size_t places = fabric_->places.size();
  place_starts_.assign(places + 1, 0);
  for (const Observation& seen : observations_) {
    ++place_starts_[seen.from + 1];
    if (seen.to != seen.from) ++place_starts_[seen.to + 1];
  }
  for (std::size_t i = 0; i < places; ++i) place_starts_[i + 1] += place_starts_[i];
  place_entries_.resize(place_starts_[places]);
  leaf_entries_.resize(leaf_names_.size());
  std::vector<std::uint32_t> next(place_starts_.begin(), place_starts_.end() - 1);
  for (std::uint32_t i = 0; i < observations_.size(); ++i) {
    const Observation& seen = observations_[i];
    place_entries_[next[seen.from]++] = i;
    if (seen.to != seen.from) place_entries_[next[seen.to]++] = i;
    const std::uint32_t from = leaf_of_[seen.from];
    const std::uint32_t to = leaf_of_[seen.to];
    if (from != kUnknown) leaf_entries_[from].push_back(i);
    if (to != kUnknown && to != from) leaf_entries_[to].push_back(i);
  }
}

void Passages::Count() {
  places_under_.resize(leaf_names_.size());
  places_of_node_.assign(node_of_.empty() ? 0 : node_of_.back() + 1, 0);
  std::map<std::uint32_t, std::set<std::uint32_t>> leaves_of_rail;
  std::set<std::uint32_t> leaves;
  for (std::uint32_t place = 0; place < fabric_->places.size(); ++place) {
    if (!Observed(place)) continue;
    ++places_of_node_[node_of_[place]];
    leaves.insert(leaf_of_[place]);
    if (leaf_of_[place] != kUnknown) places_under_[leaf_of_[place]].push_back(place);
    if (fabric_->places[place].rail) leaves_of_rail[RailOf(place)].insert(leaf_of_[place]);
  }
  rails_ = static_cast<std::uint32_t>(leaves_of_rail.size());
  leaves_ = static_cast<std::uint32_t>(leaves.size());
  if (rails_ > 0) leaves_of_rail_.assign(leaves_of_rail.rbegin()->first + 1, 0);
  for (const auto& [rail, of_rail] : leaves_of_rail)
    leaves_of_rail_[rail] = static_cast<std::uint32_t>(of_rail.size());
}

std::span<const std::uint32_t> Passages::ObservationsOf(std::uint32_t place) const {
  return {place_entries_.data() + place_starts_[place],
          place_starts_[place + 1] - place_starts_[place]};
}

std::span<const std::uint32_t> Passages::PlacesUnder(std::uint32_t leaf) const {
  return places_under_[leaf];
}

void Passages::PartsOf(std::uint32_t observation, std::vector<Part>& out) const {
  out.clear();
  const Observation& seen = observations_[observation];
  const auto end = [&](std::uint32_t place) {
    out.push_back({PartKind::kPort, place});
    if (places_of_node_[node_of_[place]] > 1) out.push_back({PartKind::kHost, node_of_[place]});
  };
  if (seen.failed_end) return end(*seen.failed_end == End::kFrom ? seen.from : seen.to);
  end(seen.from);
  if (seen.to != seen.from) end(seen.to);
  const std::uint32_t from = leaf_of_[seen.from];
  const std::uint32_t to = leaf_of_[seen.to];
  if (from != kUnknown) out.push_back({PartKind::kLeaf, from});
  if (to != kUnknown && to != from) out.push_back({PartKind::kLeaf, to});
  const std::uint32_t rail = RailOf(seen.from);
  if (from != kUnknown && to != kUnknown && from != to) {
    out.push_back({PartKind::kUplink, from});
    out.push_back({PartKind::kUplink, to});
    const auto [low, high] = std::minmax(from, to);
    if (leaves_ > 2) {
      out.push_back({PartKind::kLeafPair, low, high});
      out.push_back({PartKind::kSpine, kEverywhere});
    }
    if (rails_ > 1 && rail != kUnknown && leaves_of_rail_[rail] > 2)
      out.push_back({PartKind::kSpine, rail});
  }
  const auto of_rail = [&](std::uint32_t one) {
    if (rails_ < 2 || one == kUnknown) return;
    const bool is_a_leaf = leaves_of_rail_[one] == 1 && from != kUnknown;
    if (!is_a_leaf) out.push_back({PartKind::kRail, one});
  };
  of_rail(rail);
  if (RailOf(seen.to) != rail) of_rail(RailOf(seen.to));
  if (seen.from != seen.to) {
    const auto [low, high] = std::minmax(seen.from, seen.to);
    out.push_back({PartKind::kPair, low, high});
  }
  if (leaves_ > 1 || from == kUnknown) out.push_back({PartKind::kFabric});
}

bool Passages::Holds(const Part& part, std::uint32_t place) const {
  switch (part.kind) {
    case PartKind::kPort: return place == part.first;
    case PartKind::kHost: return node_of_[place] == part.first;
    case PartKind::kLeaf:
    case PartKind::kUplink: return leaf_of_[place] == part.first;
    case PartKind::kRail: return RailOf(place) == part.first;
    default: return false;
  }
}

bool Passages::Passes(const Part& part, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  if (seen.failed_end) {
    const bool an_end = part.kind == PartKind::kPort || part.kind == PartKind::kHost;
    return an_end && Holds(part, *seen.failed_end == End::kFrom ? seen.from : seen.to);
  }
  const std::uint32_t from = leaf_of_[seen.from];
  const std::uint32_t to = leaf_of_[seen.to];
  const bool across = from != kUnknown && to != kUnknown && from != to;
  switch (part.kind) {
    case PartKind::kUplink: return across && (from == part.first || to == part.first);
    case PartKind::kSpine:
      return across && (part.first == kEverywhere || RailOf(seen.from) == part.first);
    case PartKind::kLeafPair:
      return across && std::minmax(from, to) == std::minmax(part.first, part.second);
    case PartKind::kPair:
      return std::minmax(seen.from, seen.to) == std::minmax(part.first, part.second);
    case PartKind::kFabric: return true;
    default: return Holds(part, seen.from) || Holds(part, seen.to);
  }
}

bool Passages::HasWays(const Part& part) {
  return part.kind == PartKind::kPort || part.kind == PartKind::kHost ||
         part.kind == PartKind::kLeaf || part.kind == PartKind::kUplink ||
         part.kind == PartKind::kPair;
}

bool Passages::Leaves(const Part& part, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  return part.kind == PartKind::kPair ? seen.from == part.first : Holds(part, seen.from);
}

bool Passages::Enters(const Part& part, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  return part.kind == PartKind::kPair ? seen.to == part.first : Holds(part, seen.to);
}

std::vector<std::uint32_t> Passages::Through(const Part& part) const {
  std::vector<std::uint32_t> result;
  const auto take = [&](std::span<const std::uint32_t> candidates) {
    for (const std::uint32_t i : candidates)
      if (Passes(part, i)) result.push_back(i);
  };
  switch (part.kind) {
    case PartKind::kPort:
    case PartKind::kPair: take(ObservationsOf(part.first)); break;
    case PartKind::kLeaf:
    case PartKind::kUplink:
    case PartKind::kLeafPair: take(leaf_entries_[part.first]); break;
    case PartKind::kHost: {
      const auto first = std::lower_bound(node_of_.begin(), node_of_.end(), part.first);
      for (auto at = first; at != node_of_.end() && *at == part.first; ++at)
        take(ObservationsOf(static_cast<std::uint32_t>(at - node_of_.begin())));
      std::sort(result.begin(), result.end());
      result.erase(std::unique(result.begin(), result.end()), result.end());
      break;
    }
    default:
      for (std::uint32_t i = 0; i < observations_.size(); ++i)
        if (Passes(part, i)) result.push_back(i);
  }
  return result;
}

}  // namespace fabric::blame
