// Components of the fabric that can fail, and the observations that pass through each.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/blame/fabric.h"

namespace fabric::blame {

enum class ComponentKind : std::uint8_t {
  kPort,      // first: endpoint
  kHost,      // first: node
  kLeaf,      // first: leaf
  kUplink,    // first: leaf; some or all paths out of it
  kSpine,     // first: rail, or kEverywhere; some paths between leaves
  kLeafPair,  // first, second: leaves
  kRail,      // first: rail
  kPair,      // first, second: endpoints
  kFabric,
};

struct Component {
  ComponentKind kind = ComponentKind::kFabric;
  std::uint32_t first = 0;
  std::uint32_t second = 0;  // Greater than first; 0 for kinds without it

  friend auto operator<=>(const Component&, const Component&) = default;
};

inline constexpr std::uint32_t kEverywhere = 0xffffffff;
inline constexpr std::uint32_t kUnknown = 0xffffffff;

// Direction of the affected traffic, seen from the component.
enum class Direction : std::uint8_t { kBoth, kOut, kIn };

// Index of observations: sorted by round, with the components on each path. Borrows the fabric.
class ObservationPaths {
 public:
  explicit ObservationPaths(const Fabric& fabric);

  // Adds observations, in any order; fastest when none belongs to an earlier round than the
  // existing ones. Skips observations of unknown endpoints. Returns the index of the first changed
  // entry.
  std::size_t Add(std::span<const Observation> more);

  const Fabric& fabric() const { return *fabric_; }
  std::span<const Observation> observations() const { return observations_; }
  std::uint32_t NodeOf(std::uint32_t endpoint) const { return node_of_[endpoint]; }
  std::vector<std::uint32_t> EndpointsOfNode(std::uint32_t node) const;
  std::uint32_t LeafOf(std::uint32_t endpoint) const { return leaf_of_[endpoint]; }  // Or kUnknown
  std::uint32_t RailOf(std::uint32_t endpoint) const {
    return fabric_->endpoints[endpoint].rail.value_or(kUnknown);
  }
  const std::string& LeafName(std::uint32_t leaf) const { return leaf_names_[leaf]; }
  // Observations that timed out because one host was late, ascending.
  std::span<const std::uint32_t> Late() const { return late_; }
  std::size_t RoundsOf(std::uint32_t node) const { return rounds_of_node_[node]; }
  std::size_t NodeRounds() const { return node_rounds_; }  // Sum over all nodes
  std::size_t ObservedNodes() const { return observed_nodes_; }
  bool Observed(std::uint32_t endpoint) const { return !ObservationsOf(endpoint).empty(); }
  std::span<const std::uint32_t> ObservationsOf(std::uint32_t endpoint) const {
    return at_endpoint_[endpoint];
  }
  std::span<const std::uint32_t> EndpointsUnder(std::uint32_t leaf) const;  // Observed ones

  // All components on the observation's path, in a fixed order. Leaves out components that cannot
  // be distinguished from smaller ones: the host of one port, the rail or fabric of one leaf.
  void ComponentsOf(std::uint32_t observation, std::vector<Component>& out) const;
  // Number of observations that pass through the component.
  std::size_t Width(const Component& component) const;
  // Observations that pass through the component, ascending.
  std::vector<std::uint32_t> Through(const Component& component) const;
  bool Passes(const Component& component, std::uint32_t observation) const;
  // True when traffic from `from` to `to` leaves or enters the component.
  bool Leaves(const Component& component, std::uint32_t observation) const;
  bool Enters(const Component& component, std::uint32_t observation) const;
  static bool HasDirections(const Component& component);
  // Contains the endpoint. Only for ports, hosts, leaves, uplinks and rails; else false.
  bool Holds(const Component& component, std::uint32_t endpoint) const;

 private:
  void NumberEndpoints();
  void Index(std::size_t from);
  void CountRound(std::uint32_t endpoint, std::uint32_t round);
  void MarkObserved(std::uint32_t endpoint);
  void CountWidths(const Observation& seen);
  std::size_t RailIndex(std::uint32_t rail) const { return std::min(rail, rails_max_); }

  const Fabric* fabric_;
  std::vector<Observation> observations_;
  std::vector<std::uint32_t> node_of_;
  std::vector<std::uint32_t> leaf_of_;
  std::vector<std::string> leaf_names_;
  std::vector<std::vector<std::uint32_t>> at_endpoint_;  // Observations
  std::vector<std::vector<std::uint32_t>> at_leaf_;
  std::vector<std::uint32_t> late_;
  std::vector<std::size_t> rounds_of_node_;
  std::vector<std::uint32_t> newest_round_;  // By node
  std::size_t node_rounds_ = 0;
  std::size_t observed_nodes_ = 0;
  // Numbers of observations whose ends did not fail
  std::vector<std::size_t> through_rail_;   // By rail; the last one: without a rail
  std::vector<std::size_t> across_leaves_;  // The same
  std::size_t through_all_ = 0;
  std::uint32_t rails_max_ = 0;  // Largest rail + 1
  std::vector<bool> observed_;   // By endpoint
  // Only observed endpoints:
  std::vector<std::vector<std::uint32_t>> endpoints_under_;  // By leaf, ascending
  std::vector<std::uint32_t> endpoints_of_node_;             // Number of endpoints, by node
  std::vector<std::uint32_t> leaves_of_rail_;                // Number of leaves, by rail
  std::set<std::uint32_t> leaves_;                           // Includes kUnknown
  // (rail, leaf); endpoints without a known leaf count as one leaf.
  std::set<std::pair<std::uint32_t, std::uint32_t>> rail_leaves_;
  std::uint32_t rails_ = 0;
};

}  // namespace fabric::blame
