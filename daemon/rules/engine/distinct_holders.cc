#include "daemon/rules/engine/distinct_holders.h"

#include <algorithm>

namespace fabric::rules {

bool DistinctHolders::Keep(const KeyHolder& holder) {
  if (holder.member.node != node_) BeginNode();
  node_ = holder.member.node;
  if (IsKnown(holder)) return false;
  kept_.push_back(holder);
  return true;
}

// From here on, the holders of the last node are on another node.
void DistinctHolders::BeginNode() {
  scratch_.clear();
  for (; node_begins_ < kept_.size(); ++node_begins_)
    if (uniqueness_.identities != nullptr) uniqueness_.identities(kept_[node_begins_], scratch_);
  elsewhere_.insert(scratch_.begin(), scratch_.end());
}

bool DistinctHolders::IsKnown(const KeyHolder& holder) {
  const auto here = kept_.begin() + static_cast<std::ptrdiff_t>(node_begins_);
  if (uniqueness_.same != nullptr && std::any_of(here, kept_.end(), [&](const KeyHolder& first) {
        return uniqueness_.same(first, holder);
      }))
    return true;
  if (uniqueness_.identities == nullptr) return false;
  scratch_.clear();
  uniqueness_.identities(holder, scratch_);
  return std::any_of(scratch_.begin(), scratch_.end(),
                     [&](const Value& identity) { return elsewhere_.contains(identity); });
}

}  // namespace fabric::rules
