#include "daemon/rules/engine/cabling_index.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/rule.h"

namespace fabric::rules {

CablingIndex::CablingIndex(const NodeIndex& nodes, FindingTable& findings)
    : nodes_(nodes), findings_(findings) {
  for (const Rule* rule : AllRules())
    if (rule->lldp_rule != nullptr && rule->lldp_rule->report_strays != nullptr) {
      rules_.push_back(rule);
      numbers_.push_back(NumberOf(*rule));
    }
}

void CablingIndex::Put(std::uint32_t node) {
  if (rows_.size() <= node) rows_.resize(node + 1);
  Row& row = rows_[node];
  const fleet::NodeView& view = nodes_.at(node);
  Cabling cabling = CablingOf(view);
  const std::uint64_t texts = CablingTexts(view, cabling);
  const bool same = row.group == nullptr ? cabling.links.empty() : cabling == *row.group->cabling;
  if (same && row.texts == texts) return;
  Leave(node);
  if (!cabling.links.empty()) Enter(node, std::move(cabling));
  row.texts = texts;
}

void CablingIndex::Remove(std::uint32_t node) {
  if (rows_.size() > node) Leave(node);
}

void CablingIndex::Enter(std::uint32_t node, Cabling cabling) {
  const auto [known, added] = groups_.try_emplace(std::move(cabling));
  CablingGroup& group = known->second;
  if (added) {
    group.cabling = &known->first;
    group.leaves = LeavesOf(known->first);
    group.found.resize(rules_.size());
    for (const Leaf leaf : group.leaves) groups_by_leaf_[leaf].insert(&group);
  }
  group.nodes.insert(node);
  rows_[node].group = &group;
  changed_.insert(group.leaves.begin(), group.leaves.end());
}

void CablingIndex::Leave(std::uint32_t node) {
  CablingGroup* const group = std::exchange(rows_[node], {}).group;
  if (group == nullptr) return;
  changed_.insert(group->leaves.begin(), group->leaves.end());
  group->nodes.erase(node);
  if (!group->nodes.empty()) return;
  for (const Leaf leaf : group->leaves) {
    const auto on_leaf = groups_by_leaf_.find(leaf);
    on_leaf->second.erase(group);
    if (on_leaf->second.empty()) groups_by_leaf_.erase(on_leaf);
  }
  for (Outcome& found : group->found) findings_.Drop(found);
  groups_.erase(groups_.find(*group->cabling));
}

std::set<CablingIndex::CablingGroup*> CablingIndex::GroupsOn(const Leaves& leaves) const {
  std::set<CablingGroup*> groups;
  for (const Leaf leaf : leaves)
    if (const auto on_leaf = groups_by_leaf_.find(leaf); on_leaf != groups_by_leaf_.end())
      groups.insert(on_leaf->second.begin(), on_leaf->second.end());
  return groups;
}

void CablingIndex::AddPassing(RuleSet& rules) const {
  for (const auto& [cabling, group] : groups_)
    for (std::size_t i = 0; i < group.found.size(); ++i)
      if (group.found[i].passes > 0) rules.set(numbers_[i]);
}

void CablingIndex::AddJudging(std::uint32_t node, RuleSet& rules) const {
  if (rows_.size() <= node || rows_[node].group == nullptr) return;
  const std::vector<Outcome>& found = rows_[node].group->found;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].passes > 0) rules.set(numbers_[i]);
}

void CablingIndex::Judge() {
  if (changed_.empty()) return;
  for (CablingGroup* const group : GroupsOn(Leaves(changed_.begin(), changed_.end())))
    Judge(*group);
  changed_.clear();
}

void CablingIndex::Judge(CablingGroup& group) {
  Comparable comparable;
  CablingVotes votes;
  for (const CablingGroup* const other : GroupsOn(group.leaves)) {
    if (!IsComparable(group.leaves, other->leaves)) continue;
    comparable.push_back(other);
    votes.Add(*other->cabling, other->nodes.size());
  }
  const std::vector<ExpectedLeaf> rails = votes.Expected();
  std::uint64_t passes = 0;
  std::vector<StrayLink> strays;
  std::vector<std::uint32_t> ports;
  for (const CablingLink& link : group.cabling->links) {
    const ExpectedLeaf& expected = rails[link.rail];
    if (expected.leaf == link.leaf) ++passes;
    if (expected.leaf == link.leaf || expected.leaf == kNoLeaf) continue;
    strays.push_back({.expected = expected, .expected_name = NameOf(expected.leaf, comparable)});
    ports.push_back(link.port);
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    Verdicts out(rules_[i]->id, rules_[i]->severity);
    out.Pass(passes * group.nodes.size());
    for (const std::uint32_t node : group.nodes) {
      if (strays.empty()) break;
      for (std::size_t j = 0; j < strays.size(); ++j)
        strays[j].port = &nodes_.at(node).ports[ports[j]];
      rules_[i]->lldp_rule->report_strays(strays, out);
    }
    findings_.Replace(group.found[i], out);
  }
}

// The name that the first of these nodes reports.
std::string CablingIndex::NameOf(Leaf leaf, const Comparable& comparable) const {
  const fleet::NodeView* first = nullptr;
  std::uint32_t port = 0;
  for (const CablingGroup* const group : comparable) {
    const auto& links = group->cabling->links;
    const auto link = std::find_if(links.begin(), links.end(),
                                   [&](const CablingLink& each) { return each.leaf == leaf; });
    if (link == links.end()) continue;
    for (const std::uint32_t number : group->nodes) {
      const fleet::NodeView& node = nodes_.at(number);
      if (first != nullptr && first->node->name < node.node->name) continue;
      first = &node;
      port = link->port;
    }
  }
  return SwitchName(*NeighborOf(first->ports[port]));
}

}  // namespace fabric::rules
