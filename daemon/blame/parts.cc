#include "daemon/blame/parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace fabric::blame {
namespace {

std::uint64_t PairOf(const Observation& seen) {
  const auto [low, high] = std::minmax(seen.from, seen.to);
  return (std::uint64_t{low} << 32) | high;
}

bool Before(const Observation& a, const Observation& b) {
  return a.round != b.round ? a.round < b.round : PairOf(a) < PairOf(b);
}

}  // namespace

Passages::Passages(const Fabric& fabric) : fabric_(&fabric) {
  Number();
}

std::size_t Passages::Add(std::span<const Observation> more) {
  const std::size_t old = observations_.size();
  for (const Observation& seen : more)
    if (seen.from < fabric_->places.size() && seen.to < fabric_->places.size())
      observations_.push_back(seen);
  const auto fresh = observations_.begin() + static_cast<std::ptrdiff_t>(old);
  if (!std::is_sorted(fresh, observations_.end(), Before))
    std::stable_sort(fresh, observations_.end(), Before);
  if (old == 0 || fresh == observations_.end() || !Before(*fresh, observations_[old - 1])) {
    Index(old);
    return old;
  }
  std::inplace_merge(observations_.begin(), fresh, observations_.end(), Before);
  for (std::vector<std::uint32_t>& entries : at_place_) entries.clear();
  for (std::vector<std::uint32_t>& entries : at_leaf_) entries.clear();
  through_rail_.assign(through_rail_.size(), 0);
  across_leaves_.assign(across_leaves_.size(), 0);
  through_all_ = 0;
  Index(0);
  return 0;
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
  for (const Place& place : fabric_->places)
    if (place.rail) rails_max_ = std::max(rails_max_, *place.rail + 1);
  through_rail_.resize(rails_max_ + 1, 0);
  across_leaves_.resize(rails_max_ + 1, 0);
  at_place_.resize(fabric_->places.size());
  observed_.resize(fabric_->places.size(), false);
  places_of_node_.resize(node_of_.empty() ? 0 : node_of_.back() + 1, 0);
  at_leaf_.resize(leaf_names_.size());
  places_under_.resize(leaf_names_.size());
}

void Passages::Index(std::size_t from) {
  for (std::size_t i = from; i < observations_.size(); ++i) {
    const Observation& seen = observations_[i];
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t leaf = leaf_of_[seen.from];
    const std::uint32_t other = leaf_of_[seen.to];
    for (const std::uint32_t place : {seen.from, seen.to})
      if (at_place_[place].empty()) Observe(place);
    at_place_[seen.from].push_back(index);
    if (seen.to != seen.from) at_place_[seen.to].push_back(index);
    if (leaf != kUnknown) at_leaf_[leaf].push_back(index);
    if (other != kUnknown && other != leaf) at_leaf_[other].push_back(index);
    if (!seen.failed_end) CountWidths(seen);
  }
}

void Passages::CountWidths(const Observation& seen) {
  ++through_all_;
  const std::size_t from = RailIndex(RailOf(seen.from));
  const std::size_t to = RailIndex(RailOf(seen.to));
  ++through_rail_[from];
  if (to != from) ++through_rail_[to];
  const std::uint32_t leaf = leaf_of_[seen.from];
  const std::uint32_t other = leaf_of_[seen.to];
  if (leaf != kUnknown && other != kUnknown && leaf != other) ++across_leaves_[from];
}

std::size_t Passages::Width(const Part& part) const {
  switch (part.kind) {
    case PartKind::kRail: return through_rail_[RailIndex(part.first)];
    case PartKind::kSpine:
      if (part.first != kEverywhere) return across_leaves_[RailIndex(part.first)];
      return std::accumulate(across_leaves_.begin(), across_leaves_.end(), std::size_t{0});
    case PartKind::kFabric: return through_all_;
    default: return Through(part).size();
  }
}

// The first observation of a place; once more when all are indexed anew.
void Passages::Observe(std::uint32_t place) {
  if (observed_[place]) return;
  observed_[place] = true;
  ++places_of_node_[node_of_[place]];
  const std::uint32_t leaf = leaf_of_[place];
  leaves_.insert(leaf);
  if (leaf != kUnknown) {
    std::vector<std::uint32_t>& under = places_under_[leaf];
    under.insert(std::lower_bound(under.begin(), under.end(), place), place);
  }
  const std::uint32_t rail = RailOf(place);
  if (rail == kUnknown || !rail_leaves_.emplace(rail, leaf).second) return;
  if (leaves_of_rail_.size() <= rail) leaves_of_rail_.resize(rail + 1, 0);
  if (++leaves_of_rail_[rail] == 1) ++rails_;
}

std::span<const std::uint32_t> Passages::PlacesUnder(std::uint32_t leaf) const {
  return places_under_[leaf];
}

std::vector<std::uint32_t> Passages::PlacesOfNode(std::uint32_t node) const {
  const auto [first, last] = std::equal_range(node_of_.begin(), node_of_.end(), node);
  std::vector<std::uint32_t> places(static_cast<std::size_t>(last - first));
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(first - node_of_.begin()));
  return places;
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
    if (leaves_.size() > 2) {
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
  if (leaves_.size() > 1 || from == kUnknown) out.push_back({PartKind::kFabric});
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
    case PartKind::kLeafPair: take(at_leaf_[part.first]); break;
    case PartKind::kHost: {
      for (const std::uint32_t place : PlacesOfNode(part.first)) take(ObservationsOf(place));
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
