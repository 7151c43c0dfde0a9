#include "subnet/exports/exports.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/exports/hosts.h"
#include "subnet/exports/tree.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

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

// Names of nodes of Kubernetes: lower-case labels of DNS with dots.
bool IsNodeName(std::string_view name) {
  constexpr std::size_t kNameMax = 253;
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= kNameMax && is_alphanumeric(name.front()) &&
         is_alphanumeric(name.back()) && std::ranges::all_of(name, [&](char c) {
           return is_alphanumeric(c) || c == '-' || c == '.';
         });
}

// The name as a value of a label: at most 63 letters, digits, "-", "_" and ".".
std::string LabelValue(std::string_view name) {
  constexpr std::size_t kValueMax = 63;
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  std::string value = SlurmName(name);
  value.resize(std::min(value.size(), kValueMax));
  while (!value.empty() && !is_alphanumeric(value.back())) value.pop_back();
  while (!value.empty() && !is_alphanumeric(value.front())) value.erase(0, 1);
  return value.empty() ? "unnamed" : value;
}

// Commands for all hosts below the group.
class KubernetesLabels {
 public:
  void Add(const TreeGroup& group) {
    std::string value = LabelValue(group.name);
    // Groups whose names differ in other characters only keep different values.
    for (std::size_t number = 2; !used_[group.level].insert(value).second; ++number)
      value = Format("{}-{}", LabelValue(group.name).substr(0, 58), number);
    labels_.push_back(Format("fabricd.io/topology-level-{}={}", group.level, value));
    for (const TreeGroup& each : group.below) Add(each);
    for (const std::string& host : group.hosts) AddHost(host);
    labels_.pop_back();
  }
  std::string Text(std::size_t adapters_without_host) const {
    std::string text;
    if (adapters_without_host > 0)
      text += Format("# Without {}: the description does not name one host.\n",
                     Plural(adapters_without_host, "adapter"));
    if (left_out_ > 0)
      text += Format("# Without {} whose name cannot be that of a node of Kubernetes.\n",
                     Plural(left_out_, "host"));
    for (const auto& [host, command] : commands_) text += command;
    return text;
  }

 private:
  void AddHost(const std::string& host) {
    if (!IsNodeName(host)) {
      ++left_out_;
      return;
    }
    const std::vector<std::string> from_leaf(labels_.rbegin(), labels_.rend());
    commands_[host] = Format("kubectl label node {} --overwrite {}\n", host, Join(from_leaf, " "));
  }

  std::vector<std::string> labels_;
  std::map<std::uint32_t, std::set<std::string>> used_;
  std::map<std::string, std::string, NaturalOrder> commands_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string SlurmTopology(const Subnet& subnet) {
  const Graph graph(subnet);
  const auto hosts = HostsByLeaf(graph);
  const Groups leaves = LeafGroups(hosts, graph.size());
  Groups parts = leaves;
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    for (std::uint32_t port = 1; port < graph.stride(); ++port)
      if (graph.Next(index, port) != kNoSwitch) parts.Join(index, graph.Next(index, port));

  std::map<std::uint32_t, NameSet> members;  // Hosts by group of leaves
  for (const auto& [leaf, names] : hosts)
    members[leaves.Of(leaf)].insert(names.begin(), names.end());
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
    below[parts.Of(group)].insert(name);
  }
  std::size_t number = 0;
  for (const auto& [part, names] : below)
    if (names.size() > 1) text += Format("SwitchName=top{} Switches={}\n", ++number, Joined(names));
  return text;
}

std::string KubernetesTopology(const Subnet& subnet) {
  KubernetesLabels labels;
  for (const TreeGroup& group : TreeOf(subnet)) labels.Add(group);
  return labels.Text(CountWithoutHost(subnet));
}

}  // namespace fabric::subnet
