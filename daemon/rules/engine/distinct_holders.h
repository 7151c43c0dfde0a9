// Holders of one key that are different things. Part of the engine.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/member.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {

// Takes the holders one by one, those of a node together, in the order of ports. A holder is
// compared only with the others of its node: thousands of nodes may have the same wrong value.
class DistinctHolders {
 public:
  explicit DistinctHolders(const UniquenessRule& uniqueness) : uniqueness_(uniqueness) {}

  // Returns whether none of the holders kept so far is the same thing. If so, keeps it.
  bool Keep(const KeyHolder& holder);
  const std::vector<KeyHolder>& kept() const { return kept_; }

 private:
  bool IsKnown(const KeyHolder& holder);
  void BeginNode();

  const UniquenessRule& uniqueness_;
  std::vector<KeyHolder> kept_;
  std::size_t node_begins_ = 0;  // In kept_: first one of the node of the last holder
  const fleet::NodeView* node_ = nullptr;
  std::set<Value> elsewhere_;  // Identities of those kept on earlier nodes
  std::vector<Value> scratch_;
};

}  // namespace fabric::rules
