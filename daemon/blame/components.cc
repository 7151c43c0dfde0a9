#include "daemon/blame/components.h"

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

ObservationPaths::ObservationPaths(const Fabric& fabric) : fabric_(&fabric) {
  NumberEndpoints();
}

std::size_t ObservationPaths::Add(std::span<const Observation> more) {
  const std::size_t old = observations_.size();
  for (const Observation& seen : more)
    if (seen.from < fabric_->endpoints.size() && seen.to < fabric_->endpoints.size())
      observations_.push_back(seen);
  const auto fresh = observations_.begin() + static_cast<std::ptrdiff_t>(old);
  if (!std::is_sorted(fresh, observations_.end(), Before))
    std::stable_sort(fresh, observations_.end(), Before);
  if (old == 0 || fresh == observations_.end() || !Before(*fresh, observations_[old - 1])) {
    Index(old);
    return old;
  }
  std::inplace_merge(observations_.begin(), fresh, observations_.end(), Before);
  for (std::vector<std::uint32_t>& entries : at_endpoint_) entries.clear();
  for (std::vector<std::uint32_t>& entries : at_leaf_) entries.clear();
  through_rail_.assign(through_rail_.size(), 0);
  across_leaves_.assign(across_leaves_.size(), 0);
  through_all_ = 0;
  late_.clear();
  rounds_of_node_.assign(rounds_of_node_.size(), 0);
  node_rounds_ = observed_nodes_ = 0;
  Index(0);
  return 0;
}

void ObservationPaths::NumberEndpoints() {
  std::map<std::string, std::uint32_t> leaves;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < fabric_->endpoints.size(); ++i) {
    const Endpoint& endpoint = fabric_->endpoints[i];
    if (i > 0 && endpoint.node != fabric_->endpoints[i - 1].node) ++node;
    node_of_.push_back(node);
    if (endpoint.leaf.empty()) {
      leaf_of_.push_back(kUnknown);
      continue;
    }
    const auto [at, fresh] =
        leaves.emplace(endpoint.leaf, static_cast<std::uint32_t>(leaf_names_.size()));
    if (fresh) leaf_names_.push_back(endpoint.leaf);
    leaf_of_.push_back(at->second);
  }
  for (const Endpoint& endpoint : fabric_->endpoints)
    if (endpoint.rail) rails_max_ = std::max(rails_max_, *endpoint.rail + 1);
  through_rail_.resize(rails_max_ + 1, 0);
  across_leaves_.resize(rails_max_ + 1, 0);
  at_endpoint_.resize(fabric_->endpoints.size());
  observed_.resize(fabric_->endpoints.size(), false);
  endpoints_of_node_.resize(node_of_.empty() ? 0 : node_of_.back() + 1, 0);
  rounds_of_node_.resize(endpoints_of_node_.size(), 0);
  newest_round_.resize(endpoints_of_node_.size(), 0);
  at_leaf_.resize(leaf_names_.size());
  endpoints_under_.resize(leaf_names_.size());
}

void ObservationPaths::Index(std::size_t from) {
  for (std::size_t i = from; i < observations_.size(); ++i) {
    const Observation& seen = observations_[i];
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t leaf = leaf_of_[seen.from];
    const std::uint32_t other = leaf_of_[seen.to];
    for (const std::uint32_t endpoint : {seen.from, seen.to})
      if (at_endpoint_[endpoint].empty()) MarkObserved(endpoint);
    at_endpoint_[seen.from].push_back(index);
    if (seen.to != seen.from) at_endpoint_[seen.to].push_back(index);
    if (leaf != kUnknown) at_leaf_[leaf].push_back(index);
    if (other != kUnknown && other != leaf) at_leaf_[other].push_back(index);
    CountRound(seen.from, seen.round);
    CountRound(seen.to, seen.round);
    if (seen.late && seen.failed_end) late_.push_back(index);
    if (!seen.failed_end) CountWidths(seen);
  }
}

void ObservationPaths::CountRound(std::uint32_t endpoint, std::uint32_t round) {
  const std::uint32_t node = node_of_[endpoint];
  if (rounds_of_node_[node] > 0 && newest_round_[node] == round) return;
  newest_round_[node] = round;
  if (++rounds_of_node_[node] == 1) ++observed_nodes_;
  ++node_rounds_;
}

void ObservationPaths::CountWidths(const Observation& seen) {
  ++through_all_;
  const std::size_t from = RailIndex(RailOf(seen.from));
  const std::size_t to = RailIndex(RailOf(seen.to));
  ++through_rail_[from];
  if (to != from) ++through_rail_[to];
  const std::uint32_t leaf = leaf_of_[seen.from];
  const std::uint32_t other = leaf_of_[seen.to];
  if (leaf != kUnknown && other != kUnknown && leaf != other) ++across_leaves_[from];
}

std::size_t ObservationPaths::Width(const Component& component) const {
  switch (component.kind) {
    case ComponentKind::kRail: return through_rail_[RailIndex(component.first)];
    case ComponentKind::kSpine:
      if (component.first != kEverywhere) return across_leaves_[RailIndex(component.first)];
      return std::accumulate(across_leaves_.begin(), across_leaves_.end(), std::size_t{0});
    case ComponentKind::kFabric: return through_all_;
    default: return Through(component).size();
  }
}

// Call for the first observation of an endpoint. A repeated call has no effect.
void ObservationPaths::MarkObserved(std::uint32_t endpoint) {
  if (observed_[endpoint]) return;
  observed_[endpoint] = true;
  ++endpoints_of_node_[node_of_[endpoint]];
  const std::uint32_t leaf = leaf_of_[endpoint];
  leaves_.insert(leaf);
  if (leaf != kUnknown) {
    std::vector<std::uint32_t>& under = endpoints_under_[leaf];
    under.insert(std::lower_bound(under.begin(), under.end(), endpoint), endpoint);
  }
  const std::uint32_t rail = RailOf(endpoint);
  if (rail == kUnknown || !rail_leaves_.emplace(rail, leaf).second) return;
  if (leaves_of_rail_.size() <= rail) leaves_of_rail_.resize(rail + 1, 0);
  if (++leaves_of_rail_[rail] == 1) ++rails_;
}

std::span<const std::uint32_t> ObservationPaths::EndpointsUnder(std::uint32_t leaf) const {
  return endpoints_under_[leaf];
}

std::vector<std::uint32_t> ObservationPaths::EndpointsOfNode(std::uint32_t node) const {
  const auto [first, last] = std::equal_range(node_of_.begin(), node_of_.end(), node);
  std::vector<std::uint32_t> endpoints(static_cast<std::size_t>(last - first));
  std::iota(endpoints.begin(), endpoints.end(),
            static_cast<std::uint32_t>(first - node_of_.begin()));
  return endpoints;
}

void ObservationPaths::ComponentsOf(std::uint32_t observation, std::vector<Component>& out) const {
  out.clear();
  const Observation& seen = observations_[observation];
  const auto end = [&](std::uint32_t endpoint) {
    out.push_back({ComponentKind::kPort, endpoint});
    if (endpoints_of_node_[node_of_[endpoint]] > 1)
      out.push_back({ComponentKind::kHost, node_of_[endpoint]});
  };
  if (seen.failed_end) return end(*seen.failed_end == End::kFrom ? seen.from : seen.to);
  end(seen.from);
  if (seen.to != seen.from) end(seen.to);
  const std::uint32_t from = leaf_of_[seen.from];
  const std::uint32_t to = leaf_of_[seen.to];
  if (from != kUnknown) out.push_back({ComponentKind::kLeaf, from});
  if (to != kUnknown && to != from) out.push_back({ComponentKind::kLeaf, to});
  const std::uint32_t rail = RailOf(seen.from);
  if (from != kUnknown && to != kUnknown && from != to) {
    out.push_back({ComponentKind::kUplink, from});
    out.push_back({ComponentKind::kUplink, to});
    const auto [low, high] = std::minmax(from, to);
    if (leaves_.size() > 2) {
      out.push_back({ComponentKind::kLeafPair, low, high});
      out.push_back({ComponentKind::kSpine, kEverywhere});
    }
    if (rails_ > 1 && rail != kUnknown && leaves_of_rail_[rail] > 2)
      out.push_back({ComponentKind::kSpine, rail});
  }
  const auto of_rail = [&](std::uint32_t one) {
    if (rails_ < 2 || one == kUnknown) return;
    const bool is_a_leaf = leaves_of_rail_[one] == 1 && from != kUnknown;
    if (!is_a_leaf) out.push_back({ComponentKind::kRail, one});
  };
  of_rail(rail);
  if (RailOf(seen.to) != rail) of_rail(RailOf(seen.to));
  if (seen.from != seen.to) {
    const auto [low, high] = std::minmax(seen.from, seen.to);
    out.push_back({ComponentKind::kPair, low, high});
  }
  if (leaves_.size() > 1 || from == kUnknown) out.push_back({ComponentKind::kFabric});
}

bool ObservationPaths::Holds(const Component& component, std::uint32_t endpoint) const {
  switch (component.kind) {
    case ComponentKind::kPort: return endpoint == component.first;
    case ComponentKind::kHost: return node_of_[endpoint] == component.first;
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink: return leaf_of_[endpoint] == component.first;
    case ComponentKind::kRail: return RailOf(endpoint) == component.first;
    default: return false;
  }
}

bool ObservationPaths::Passes(const Component& component, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  if (seen.failed_end) {
    const bool an_end =
        component.kind == ComponentKind::kPort || component.kind == ComponentKind::kHost;
    return an_end && Holds(component, *seen.failed_end == End::kFrom ? seen.from : seen.to);
  }
  const std::uint32_t from = leaf_of_[seen.from];
  const std::uint32_t to = leaf_of_[seen.to];
  const bool across = from != kUnknown && to != kUnknown && from != to;
  switch (component.kind) {
    case ComponentKind::kUplink:
      return across && (from == component.first || to == component.first);
    case ComponentKind::kSpine:
      return across && (component.first == kEverywhere || RailOf(seen.from) == component.first);
    case ComponentKind::kLeafPair:
      return across && std::minmax(from, to) == std::minmax(component.first, component.second);
    case ComponentKind::kPair:
      return std::minmax(seen.from, seen.to) == std::minmax(component.first, component.second);
    case ComponentKind::kFabric: return true;
    default: return Holds(component, seen.from) || Holds(component, seen.to);
  }
}

bool ObservationPaths::HasDirections(const Component& component) {
  return component.kind == ComponentKind::kPort || component.kind == ComponentKind::kHost ||
         component.kind == ComponentKind::kLeaf || component.kind == ComponentKind::kUplink ||
         component.kind == ComponentKind::kPair;
}

bool ObservationPaths::Leaves(const Component& component, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  return component.kind == ComponentKind::kPair ? seen.from == component.first
                                                : Holds(component, seen.from);
}

bool ObservationPaths::Enters(const Component& component, std::uint32_t observation) const {
  const Observation& seen = observations_[observation];
  return component.kind == ComponentKind::kPair ? seen.to == component.first
                                                : Holds(component, seen.to);
}

std::vector<std::uint32_t> ObservationPaths::Through(const Component& component) const {
  std::vector<std::uint32_t> result;
  const auto take = [&](std::span<const std::uint32_t> candidates) {
    for (const std::uint32_t i : candidates)
      if (Passes(component, i)) result.push_back(i);
  };
  switch (component.kind) {
    case ComponentKind::kPort:
    case ComponentKind::kPair: take(ObservationsOf(component.first)); break;
    case ComponentKind::kLeaf:
    case ComponentKind::kUplink:
    case ComponentKind::kLeafPair: take(at_leaf_[component.first]); break;
    case ComponentKind::kHost: {
      for (const std::uint32_t endpoint : EndpointsOfNode(component.first))
        take(ObservationsOf(endpoint));
      std::sort(result.begin(), result.end());
      result.erase(std::unique(result.begin(), result.end()), result.end());
      break;
    }
    default:
      for (std::uint32_t i = 0; i < observations_.size(); ++i)
        if (Passes(component, i)) result.push_back(i);
  }
  return result;
}

}  // namespace fabric::blame
