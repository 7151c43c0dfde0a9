#include "subnet/exports/exports.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/levels.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

class Groups {
 public:
  explicit Groups(std::uint32_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t Of(std::uint32_t index) const {
    while (parent_[index] != index) index = parent_[index];
    return index;
  }
  // The group keeps its lowest index.
  void Join(std::uint32_t a, std::uint32_t b) {
    const auto [low, high] = std::minmax({Of(a), Of(b)});
    parent_[high] = low;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

bool NameBefore(const std::string& a, const std::string& b) {
  return NaturalLess(a, b);
}
using Natural = decltype(&NameBefore);
using NameSet = std::set<std::string, Natural>;

// Characters that Slurm accepts in names of switches.
std::string SlurmName(std::string_view name) {
  std::string made(name);
  for (char& c : made)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
          c == '_' || c == '.'))
      c = '_';
  return made;
}

std::string Joined(const NameSet& names) {
  return Join(std::vector<std::string>(names.begin(), names.end()), ",");
}

// Whether the description has the name of a host, of this host only.
bool NamesItsHost(const Node& node) {
  return !HasGenericDescription(node) && !(node.shares_name && !DeviceOf(node).empty());
}

std::size_t CountWithoutHost(const Subnet& subnet) {
  return static_cast<std::size_t>(std::ranges::count_if(subnet.nodes(), [](const Node& node) {
    return node.type == NodeType::kAdapter && !IsAggregationNode(node) &&
           (node.description.empty() || !NamesItsHost(node));
  }));
}

// Names of hosts by index of their leaf.
std::map<std::uint32_t, NameSet> HostsByLeaf(const Graph& graph) {
  std::map<std::uint32_t, NameSet> hosts;
  const Subnet& subnet = graph.subnet();
  for (const Node& node : subnet.nodes()) {
    if (node.type != NodeType::kAdapter || IsAggregationNode(node) || node.description.empty() ||
        !NamesItsHost(node))
      continue;
    for (const Port& port : node.ports) {
      if (port.peer == kNoNode || graph.IndexOf(port.peer) == kNoSwitch) continue;
      hosts.try_emplace(graph.IndexOf(port.peer), &NameBefore)
          .first->second.insert(std::string(HostOf(node)));
    }
  }
  return hosts;
}

}  // namespace

std::string SlurmTopology(const Subnet& subnet) {
  const Graph graph(subnet);
  const auto hosts = HostsByLeaf(graph);
  Groups leaves(graph.size());
  std::map<std::string, std::uint32_t> leaf_of_host;
  for (const auto& [leaf, names] : hosts)
    for (const std::string& name : names)
      if (const auto [at, first] = leaf_of_host.emplace(name, leaf); !first)
        leaves.Join(at->second, leaf);
  Groups parts = leaves;
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    for (std::uint32_t port = 1; port < graph.stride(); ++port)
      if (graph.Next(index, port) != kNoSwitch) parts.Join(index, graph.Next(index, port));

  std::map<std::uint32_t, NameSet> members;  // Hosts by group of leaves
  for (const auto& [leaf, names] : hosts)
    members.try_emplace(leaves.Of(leaf), &NameBefore)
        .first->second.insert(names.begin(), names.end());
  std::string text;
  if (const std::size_t omitted = CountWithoutHost(subnet); omitted > 0)
    text += Format("# Without {}: the description does not name one host.\n",
                   Plural(omitted, "adapter"));
  std::map<std::uint32_t, NameSet> below;  // Names of groups by part
  std::set<std::string> used;
  for (const auto& [group, names] : members) {
    const Node& node = subnet.node(graph.NodeOf(group));
    std::string name = SlurmName(NameOf(node));
    if (!used.insert(name).second) name += Format("_{:016x}", node.guid);
    text += Format("SwitchName={} Nodes={}\n", name, Joined(names));
    below.try_emplace(parts.Of(group), &NameBefore).first->second.insert(name);
  }
  std::size_t number = 0;
  for (const auto& [part, names] : below)
    if (names.size() > 1) text += Format("SwitchName=top{} Switches={}\n", ++number, Joined(names));
  return text;
}

std::string Dot(const Subnet& subnet) {
  const Graph graph(subnet);
  const Levels levels = LevelsOf(graph);
  const auto hosts = HostsByLeaf(graph);
  const auto quoted = [](std::string name) {
    std::ranges::replace(name, '"', '\'');
    std::ranges::replace(name, '\\', '/');
    return Format("\"{}\"", name);
  };
  std::string text = "graph subnet {\n  rankdir=BT;\n  node [shape=box];\n";
  for (std::uint32_t index = 0; index < graph.size(); ++index) {
    const Node& node = subnet.node(graph.NodeOf(index));
    const auto at = hosts.find(index);
    text += Format("  n{} [label={}];\n", index,
                   quoted(at == hosts.end() ? NameOf(node)
                                            : Format("{} ({})", NameOf(node),
                                                     Plural(at->second.size(), "host"))));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::string, std::size_t>> edges;
  for (const Cable& cable : subnet.Cables()) {
    std::uint32_t from = graph.IndexOf(cable.from.node);
    std::uint32_t to = graph.IndexOf(cable.to.node);
    if (from == kNoSwitch || to == kNoSwitch) continue;
    if (levels.IsUp(to, from)) std::swap(from, to);
    ++edges[{from, to}][ToString(subnet.port(cable.from).rate)];
  }
  for (const auto& [ends, rates] : edges) {
    std::vector<std::string> labels;
    for (const auto& [rate, count] : rates) labels.push_back(Format("{} {}", count, rate));
    text +=
        Format("  n{} -- n{} [label={}];\n", ends.first, ends.second, quoted(Join(labels, ", ")));
  }
  return text + "}\n";
}

}  // namespace fabric::subnet
