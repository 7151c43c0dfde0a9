#include "daemon/rules/engine/node_index.h"

#include <utility>

namespace fabric::rules {

std::uint32_t NodeIndex::Add(const std::string& node) {
  const auto [known, added] = numbers_.try_emplace(node);
  if (!added) return known->second;
  known->second = static_cast<std::uint32_t>(views_.size());
  if (free_.empty()) {
    views_.emplace_back();
  } else {
    known->second = free_.back();
    free_.pop_back();
  }
  return known->second;
}

std::optional<std::uint32_t> NodeIndex::Remove(const std::string& node) {
  const auto known = numbers_.find(node);
  if (known == numbers_.end()) return {};
  const std::uint32_t number = known->second;
  numbers_.erase(known);
  free_.push_back(number);
  views_[number] = {};
  return number;
}

Member NodeIndex::MemberOf(const Ref& ref) const {
  const fleet::NodeView& view = views_[ref.node];
  return {.node = &view, .port = ref.port == Ref::kWholeNode ? nullptr : &view.ports[ref.port]};
}

bool NodeIndex::Before(const Ref& a, const Ref& b) const {
  if (a.node == b.node) return a.port < b.port;
  return views_[a.node].node->name < views_[b.node].node->name;
}

}  // namespace fabric::rules
