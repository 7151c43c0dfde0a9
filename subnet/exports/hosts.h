// Hosts of a subnet by their leaf switches, for exports. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "subnet/routing/graph.h"

namespace fabric::subnet {

// Disjoint sets of switch indexes. A group has the lowest index of its members.
class Groups {
 public:
  explicit Groups(std::uint32_t size);
  std::uint32_t Of(std::uint32_t index) const {
    while (parent_[index] != index) index = parent_[index];
    return index;
  }
  void Join(std::uint32_t a, std::uint32_t b);

 private:
  std::vector<std::uint32_t> parent_;
};

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};
using NameSet = std::set<std::string, NaturalOrder>;

// Names of hosts by index of their leaf.
std::map<std::uint32_t, NameSet> HostsByLeaf(const Graph& graph);
// Adapters whose description does not name one host. HostsByLeaf() leaves them out.
std::size_t CountWithoutHost(const Subnet& subnet);

// Leaves that share hosts are one group.
Groups LeafGroups(const std::map<std::uint32_t, NameSet>& hosts, std::uint32_t switches);

}  // namespace fabric::subnet
