// Index of the cabling of all nodes, for the LLDP rules that compare links between nodes. Part of
// the engine.
//
// Nodes with equal cabling form a group, which is judged at once. There is about one group for each
// unit of the fabric, and one more for each node with a wrong cable. When a node changes, the
// groups that share a leaf with it are judged again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/coverage.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/switches/cabling.h"

namespace fabric::rules {

class CablingIndex {
 public:
  // For all rules with LldpRule::report_strays. Borrows both.
  CablingIndex(const NodeIndex& nodes, FindingTable& findings);

  // The node is new or has changed.
  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // Updates the findings after these changes.
  void Judge();
  // Adds the rules with a pass.
  void AddPassing(RuleSet& rules) const;
  // Adds the rules that judge the node or its ports.
  void AddJudging(std::uint32_t node, RuleSet& rules) const;

 private:
  struct CablingGroup {
    const Cabling* cabling = nullptr;
    Leaves leaves;
    std::set<std::uint32_t> nodes;
    std::vector<Outcome> found;  // By rule
  };
  struct Row {
    CablingGroup* group = nullptr;  // nullptr: no links
    std::uint64_t texts = 0;
  };
  using Comparable = std::vector<const CablingGroup*>;

  void Enter(std::uint32_t node, Cabling cabling);
  void Leave(std::uint32_t node);
  std::set<CablingGroup*> GroupsOn(const Leaves& leaves) const;
  void Judge(CablingGroup& group);
  std::string NameOf(Leaf leaf, const Comparable& comparable) const;

  const NodeIndex& nodes_;
  FindingTable& findings_;
  std::vector<const Rule*> rules_;
  std::vector<std::size_t> numbers_;  // Of these rules
  std::vector<Row> rows_;             // By number of node
  std::map<Cabling, CablingGroup> groups_;
  std::unordered_map<Leaf, std::set<CablingGroup*>> groups_by_leaf_;
  std::set<Leaf> changed_;
};

}  // namespace fabric::rules
