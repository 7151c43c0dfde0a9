// Cabling of a node: the leaf switch of each rail, as LLDP reports it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/rules/switches/switches.h"

namespace fabric::rules {

// Digest of a chassis id. Not stable across builds.
using Leaf = std::uint64_t;
inline constexpr Leaf kNoLeaf = 0;

struct CablingLink {
  std::uint32_t rail = 0;
  std::uint32_t port = 0;  // Index in NodeView::ports
  Leaf leaf = kNoLeaf;
  friend auto operator<=>(const CablingLink&, const CablingLink&) = default;
};

// In the order of ports.
struct Cabling {
  std::vector<CablingLink> links;
  friend auto operator<=>(const Cabling&, const Cabling&) = default;
};

// The links that carry RoCE and have an LLDP neighbor.
Cabling CablingOf(const fleet::NodeView& node);
// Digest of the names of these links that findings show.
std::uint64_t CablingTexts(const fleet::NodeView& node, const Cabling& cabling);

using Leaves = std::vector<Leaf>;  // Sorted, without duplicates
Leaves LeavesOf(const Cabling& cabling);
// At least half of `leaves` are in `others`: nodes with these leaves are comparable.
bool IsComparable(const Leaves& leaves, const Leaves& others);

// Where comparable nodes have a rail.
struct ExpectedLeaf {
  Leaf leaf = kNoLeaf;    // kNoLeaf: the nodes do not agree
  std::size_t nodes = 0;  // Nodes that have the rail on this leaf
  std::size_t all = 0;    // Nodes that have the rail
};

// Counts where nodes have their rails.
class CablingVotes {
 public:
  void Add(const Cabling& cabling, std::size_t nodes);
  // By rail. A rail has an expected leaf if at least two nodes have it there, and at least twice
  // the number of nodes on any other leaf.
  std::vector<ExpectedLeaf> Expected() const;

 private:
  struct Vote {
    std::uint32_t rail = 0;
    Leaf leaf = kNoLeaf;
    std::size_t nodes = 0;
  };
  std::vector<Vote> votes_;
};

// A link that is not on the expected leaf.
struct StrayLink {
  const fleet::PortView* port = nullptr;
  ExpectedLeaf expected;
  std::string expected_name;  // Of the expected leaf
};

}  // namespace fabric::rules
