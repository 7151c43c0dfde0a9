#include "daemon/rules/engine/peer_groups.h"

#include <algorithm>

namespace fabric::rules {

Ref FirstOf(ValueGroup& group, const NodeIndex& nodes) {
  if (!group.first)
    group.first = *std::min_element(group.members.begin(), group.members.end(),
                                    [&](const Ref& a, const Ref& b) { return nodes.Before(a, b); });
  return *group.first;
}

void SlotTable::SetComparisons(std::size_t of_nodes, std::size_t of_ports) {
  of_nodes_ = of_nodes;
  of_ports_ = of_ports;
}

void SlotTable::Add(std::uint32_t node, std::uint32_t ports) {
  if (rows_.size() <= node) rows_.resize(node + 1);
  rows_[node].ports = ports;
  rows_[node].slots.resize(of_nodes_ + of_ports_ * ports);
}

std::size_t SlotTable::IndexOf(const Comparison& comparison, const Ref& ref) const {
  const std::size_t first = comparison.of_nodes ? 0 : of_nodes_ + of_ports_ * std::size_t{ref.port};
  return first + comparison.number;
}

Slot& SlotTable::At(const Comparison& comparison, const Ref& ref) {
  return rows_[ref.node].slots[IndexOf(comparison, ref)];
}

const Slot& SlotTable::At(const Comparison& comparison, const Ref& ref) const {
  return rows_[ref.node].slots[IndexOf(comparison, ref)];
}

Slot* SlotTable::Find(const PeerGroup& group, const Ref& ref) {
  if (!Has(ref.node)) return nullptr;
  if (ref.port != Ref::kWholeNode && ref.port >= Ports(ref.node)) return nullptr;
  Slot& slot = At(*group.comparison, ref);
  return slot.group != nullptr && slot.group->peers == &group ? &slot : nullptr;
}

}  // namespace fabric::rules
