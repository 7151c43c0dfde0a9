#include "subnet/exports/hosts.h"

#include <algorithm>
#include <numeric>

#include "base/lists.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Whether the description has the name of a host, of this host only.
bool NamesItsHost(const Node& node) {
  return !HasGenericDescription(node) && !(node.shares_name && !DeviceOf(node).empty());
}

}  // namespace

Groups::Groups(std::uint32_t size) : parent_(size) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

void Groups::Join(std::uint32_t a, std::uint32_t b) {
  const auto [low, high] = std::minmax({Of(a), Of(b)});
  parent_[high] = low;
}

bool NaturalOrder::operator()(const std::string& a, const std::string& b) const {
  return NaturalLess(a, b);
}

std::size_t CountWithoutHost(const Subnet& subnet) {
  return static_cast<std::size_t>(std::ranges::count_if(subnet.nodes(), [](const Node& node) {
    return node.type == NodeType::kAdapter && !IsAggregationNode(node) &&
           (node.description.empty() || !NamesItsHost(node));
  }));
}

std::map<std::uint32_t, NameSet> HostsByLeaf(const Graph& graph) {
  std::map<std::uint32_t, NameSet> hosts;
  const Subnet& subnet = graph.subnet();
  for (const Node& node : subnet.nodes()) {
    if (node.type != NodeType::kAdapter || IsAggregationNode(node) || node.description.empty() ||
        !NamesItsHost(node))
      continue;
    for (const Port& port : node.ports) {
      if (port.peer == kNoNode || graph.IndexOf(port.peer) == kNoSwitch) continue;
      hosts[graph.IndexOf(port.peer)].insert(std::string(HostOf(node)));
    }
  }
  return hosts;
}

Groups LeafGroups(const std::map<std::uint32_t, NameSet>& hosts, std::uint32_t switches) {
  Groups leaves(switches);
  std::map<std::string, std::uint32_t> leaf_of_host;
  for (const auto& [leaf, names] : hosts)
    for (const std::string& name : names)
      if (const auto [at, first] = leaf_of_host.emplace(name, leaf); !first)
        leaves.Join(at->second, leaf);
  return leaves;
}

}  // namespace fabric::subnet
