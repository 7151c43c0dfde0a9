#include "daemon/rules/switches/cabling.h"

#include <algorithm>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {

Cabling CablingOf(const fleet::NodeView& node) {
  Cabling cabling;
  if (node.node->snapshot.lldp_neighbors().empty()) return cabling;
  cabling.links.reserve(node.ports.size());
  for (std::uint32_t i = 0; i < node.ports.size(); ++i) {
    const fleet::PortView& port = node.ports[i];
    const v1::LldpNeighbor* const neighbor = NeighborOf(port);
    if (neighbor == nullptr || !CarriesRoce(port) || neighbor->chassis_id().empty()) continue;
    cabling.links.push_back({.rail = port.rail->value(),
                             .port = i,
                             .leaf = Digest().Add(neighbor->chassis_id()).value()});
  }
  return cabling;
}

std::uint64_t CablingTexts(const fleet::NodeView& node, const Cabling& cabling) {
  Digest texts;
  for (const CablingLink& link : cabling.links) {
    const fleet::PortView& port = node.ports[link.port];
    const v1::LldpNeighbor& neighbor = *NeighborOf(port);
    texts.Add(port.device->name()).Add(port.port->number()).Add(port.port->netdev());
    texts.Add(SwitchName(neighbor)).Add(SwitchPort(neighbor));
  }
  return texts.value();
}

Leaves LeavesOf(const Cabling& cabling) {
  Leaves leaves;
  leaves.reserve(cabling.links.size());
  for (const CablingLink& link : cabling.links) leaves.push_back(link.leaf);
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

bool IsComparable(const Leaves& leaves, const Leaves& others) {
  const auto shared = std::count_if(leaves.begin(), leaves.end(), [&](Leaf leaf) {
    return std::binary_search(others.begin(), others.end(), leaf);
  });
  return 2 * static_cast<std::size_t>(shared) >= leaves.size();
}

void CablingVotes::Add(const Cabling& cabling, std::size_t nodes) {
  for (const CablingLink& link : cabling.links) {
    const auto known = std::find_if(votes_.begin(), votes_.end(), [&](const Vote& vote) {
      return vote.rail == link.rail && vote.leaf == link.leaf;
    });
    if (known != votes_.end())
      known->nodes += nodes;
    else
      votes_.push_back({.rail = link.rail, .leaf = link.leaf, .nodes = nodes});
  }
}

std::vector<ExpectedLeaf> CablingVotes::Expected() const {
  std::vector<ExpectedLeaf> rails;
  for (const Vote& vote : votes_) {
    if (rails.size() <= vote.rail) rails.resize(vote.rail + 1);
    ExpectedLeaf& most = rails[vote.rail];
    most.all += vote.nodes;
    if (vote.nodes <= most.nodes) continue;
    most.leaf = vote.leaf;
    most.nodes = vote.nodes;
  }
  for (ExpectedLeaf& most : rails)
    if (most.nodes < 2 || most.nodes < 2 * (most.all - most.nodes)) most.leaf = kNoLeaf;
  return rails;
}

}  // namespace fabric::rules
