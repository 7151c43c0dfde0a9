#include "subnet/exports/tree.h"

#include <algorithm>
#include <map>

#include "base/lists.h"
#include "subnet/checks/levels.h"
#include "subnet/exports/hosts.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

class TreeMaker {
 public:
  explicit TreeMaker(const Subnet& subnet)
      : graph_(subnet),
        levels_(LevelsOf(graph_)),
        hosts_(HostsByLeaf(graph_)),
        groups_(LeafGroups(hosts_, graph_.size())) {}

  std::vector<TreeGroup> Run() {
    // By group, which Groups names by its lowest index
    std::map<std::uint32_t, TreeGroup> groups;
    for (const auto& [leaf, names] : hosts_) {
      TreeGroup& group = groups[groups_.Of(leaf)];
      group.switches.push_back(NameOf(leaf));
      group.hosts.insert(group.hosts.end(), names.begin(), names.end());
    }
    for (auto& [index, group] : groups) {
      std::ranges::sort(group.hosts, NaturalLess);
      group.hosts.erase(std::unique(group.hosts.begin(), group.hosts.end()), group.hosts.end());
      Finish(group);
    }
    const std::uint32_t top = levels_.tree ? std::max(levels_.count, 1U) - 1 : 1;
    for (std::uint32_t level = 1; level <= top; ++level) groups = Above(std::move(groups), level);
    std::vector<TreeGroup> all;
    for (auto& [index, group] : groups) all.push_back(std::move(group));
    SortByName(all);
    return all;
  }

 private:
  std::string NameOf(std::uint32_t index) const {
    return subnet::NameOf(graph_.subnet().node(graph_.NodeOf(index)));
  }
  static void SortByName(std::vector<TreeGroup>& groups) {
    std::ranges::sort(groups, NaturalLess, &TreeGroup::name);
  }
  static void Finish(TreeGroup& group) {
    std::ranges::sort(group.switches, NaturalLess);
    if (!group.switches.empty())
      group.name = group.switches.front();
    else if (!group.below.empty())
      group.name = group.below.front().name;
  }
  bool IsJoinedAt(std::uint32_t index, std::uint32_t level) const {
    return !levels_.tree || levels_.level[index] <= level;
  }

  std::map<std::uint32_t, TreeGroup> Above(std::map<std::uint32_t, TreeGroup> below,
                                           std::uint32_t level) {
    for (std::uint32_t index = 0; index < graph_.size(); ++index)
      for (std::uint32_t port = 1; port < graph_.stride(); ++port)
        if (const std::uint32_t next = graph_.Next(index, port);
            next != kNoSwitch && IsJoinedAt(index, level) && IsJoinedAt(next, level))
          groups_.Join(index, next);
    std::map<std::uint32_t, TreeGroup> groups;
    for (auto& [index, group] : below) groups[groups_.Of(index)].below.push_back(std::move(group));
    for (std::uint32_t index = 0; index < graph_.size(); ++index) {
      const bool of_level = levels_.tree ? levels_.level[index] == level : !hosts_.contains(index);
      if (const auto at = groups.find(groups_.Of(index)); of_level && at != groups.end())
        at->second.switches.push_back(NameOf(index));
    }
    for (auto& [index, group] : groups) {
      group.level = level;
      SortByName(group.below);
      Finish(group);
    }
    return groups;
  }

  const Graph graph_;
  const Levels levels_;
  const std::map<std::uint32_t, NameSet> hosts_;
  Groups groups_;
};

}  // namespace

std::vector<TreeGroup> TreeOf(const Subnet& subnet) {
  return TreeMaker(subnet).Run();
}

}  // namespace fabric::subnet
