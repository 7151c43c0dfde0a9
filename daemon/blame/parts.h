// The parts of the fabric that may be to blame, and which observations pass through them.
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
#include "daemon/blame/observation.h"

namespace fabric::blame {

enum class PartKind : std::uint8_t {
  kPort,      // first: place
  kHost,      // first: node
  kLeaf,      // first: leaf
  kUplink,    // first: leaf; some or all ways out of it
  kSpine,     // first: rail, or kEverywhere; some ways between leaves
  kLeafPair,  // first, second: leaves
  kRail,      // first: rail
  kPair,      // first, second: places
  kFabric,
};

struct Part {
  PartKind kind = PartKind::kFabric;
  std::uint32_t first = 0;
  std::uint32_t second = 0;  // More than first, where there is one

  friend auto operator<=>(const Part&, const Part&) = default;
};

inline constexpr std::uint32_t kEverywhere = 0xffffffff;
inline constexpr std::uint32_t kUnknown = 0xffffffff;

// Which traffic through a part is meant.
enum class Way : std::uint8_t { kBoth, kOut, kIn };

// Observations in the order of their rounds, and what each passes through. Borrows the fabric.
class Passages {
 public:
  explicit Passages(const Fabric& fabric);

  // In any order; cheapest where none is of an earlier round than what is there. Those of places
  // that the fabric does not have are left out. The index of the first one that was not there.
  std::size_t Add(std::span<const Observation> more);

  const Fabric& fabric() const { return *fabric_; }
  std::span<const Observation> observations() const { return observations_; }
  std::uint32_t NodeOf(std::uint32_t place) const { return node_of_[place]; }
  std::vector<std::uint32_t> PlacesOfNode(std::uint32_t node) const;
  std::uint32_t LeafOf(std::uint32_t place) const { return leaf_of_[place]; }  // Or kUnknown
  std::uint32_t RailOf(std::uint32_t place) const {
    return fabric_->places[place].rail.value_or(kUnknown);
  }
  const std::string& LeafName(std::uint32_t leaf) const { return leaf_names_[leaf]; }
  bool Observed(std::uint32_t place) const { return !ObservationsOf(place).empty(); }
  std::span<const std::uint32_t> ObservationsOf(std::uint32_t place) const {
    return at_place_[place];
  }
  std::span<const std::uint32_t> PlacesUnder(std::uint32_t leaf) const;  // Observed ones

  // Every part that the observation passes, in a fixed order. Parts that cannot be told from
  // smaller ones are left out: the host of one port, the rail or fabric of one leaf.
  void PartsOf(std::uint32_t observation, std::vector<Part>& out) const;
  // How many observations pass a rail, spine or the fabric.
  std::size_t Width(const Part& part) const;
  // Observations that pass the part, rising.
  std::vector<std::uint32_t> Through(const Part& part) const;
  bool Passes(const Part& part, std::uint32_t observation) const;
  // Does traffic from `from` to `to` leave the part, or enter it? Parts without ways: neither.
  bool Leaves(const Part& part, std::uint32_t observation) const;
  bool Enters(const Part& part, std::uint32_t observation) const;
  static bool HasWays(const Part& part);
  // Of ports, hosts, leaves, uplinks and rails; of others false.
  bool Holds(const Part& part, std::uint32_t place) const;

 private:
  void Number();
  void Index(std::size_t from);
  void Observe(std::uint32_t place);
  void CountWidths(const Observation& seen);
  std::size_t RailIndex(std::uint32_t rail) const { return std::min(rail, rails_max_); }

  const Fabric* fabric_;
  std::vector<Observation> observations_;
  std::vector<std::uint32_t> node_of_;
  std::vector<std::uint32_t> leaf_of_;
  std::vector<std::string> leaf_names_;
  std::vector<std::vector<std::uint32_t>> at_place_;  // Observations
  std::vector<std::vector<std::uint32_t>> at_leaf_;
  // Of observations whose ends did not fail
  std::vector<std::size_t> through_rail_;   // By rail; the last one: without
  std::vector<std::size_t> across_leaves_;  // The same
  std::size_t through_all_ = 0;
  std::uint32_t rails_max_ = 0;  // More than the largest rail
  std::vector<bool> observed_;   // By place
  // Of places that were observed:
  std::vector<std::vector<std::uint32_t>> places_under_;  // By leaf, rising
  std::vector<std::uint32_t> places_of_node_;             // A count
  std::vector<std::uint32_t> leaves_of_rail_;             // A count
  std::set<std::uint32_t> leaves_;                        // With kUnknown
  // By rail; all places of a rail without leaf are under one.
  std::set<std::pair<std::uint32_t, std::uint32_t>> rail_leaves_;
  std::uint32_t rails_ = 0;
};

}  // namespace fabric::blame
