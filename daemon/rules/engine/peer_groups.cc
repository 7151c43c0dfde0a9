#include "daemon/rules/engine/peer_groups.h"

#include <algorithm>
#include <optional>

namespace fabric::rules {

Ref FirstOf(ValueGroup& values, const NodeIndex& nodes, const SlotTable& slots) {
  if (values.first) return *values.first;
  for (const Ref& ref : values.members) {
    if (slots.At(*values.peers->comparison, ref).silent) continue;
    if (!values.first || nodes.Before(ref, *values.first)) values.first = ref;
  }
  return values.first.value();
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
