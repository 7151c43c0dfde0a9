#include "daemon/rules/engine/key_table.h"

#include <utility>

namespace fabric::rules {

std::size_t KeyTable::SlotOf(std::uint64_t hash) const {
  std::size_t slot = Home(hash);
  while (slots_[slot].ref != kFree && slots_[slot].hash != hash) slot = Next(slot);
  return slot;
}

Ref* KeyTable::Find(std::uint64_t hash) {
  if (slots_.empty()) return nullptr;
  Slot& slot = slots_[SlotOf(hash)];
  return slot.ref == kFree ? nullptr : &slot.ref;
}

void KeyTable::Add(std::uint64_t hash, const Ref& ref) {
  if (4 * (size_ + 1) > 3 * slots_.size()) Grow();
  slots_[SlotOf(hash)] = {.hash = hash, .ref = ref};
  ++size_;
}

void KeyTable::Grow() {
  const std::vector<Slot> before = std::exchange(slots_, {});
  slots_.resize(before.empty() ? 16 : 2 * before.size());
  for (const Slot& slot : before)
    if (slot.ref != kFree) slots_[SlotOf(slot.hash)] = slot;
}

// What stands behind the gap moves into it, as far as it would be looked for there.
void KeyTable::Remove(std::uint64_t hash) {
  std::size_t gap = SlotOf(hash);
  for (std::size_t slot = Next(gap); slots_[slot].ref != kFree; slot = Next(slot)) {
    const std::size_t mask = slots_.size() - 1;
    const std::size_t from_home = (slot - Home(slots_[slot].hash)) & mask;
    if (from_home < ((slot - gap) & mask)) continue;
    slots_[gap] = slots_[slot];
    gap = slot;
  }
  slots_[gap] = {};
  --size_;
}

}  // namespace fabric::rules
