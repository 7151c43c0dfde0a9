// Gaps of one snapshot, for the search of the gap that explains a missing field. Part of the
// engine.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/rules/fields.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

// The driver or the kernel has no such value, or it has no meaning in this state.
bool SaysThatThereIsNone(const v1::Gap& gap);

class GapIndex {
 public:
  // Replaces the gaps. Borrows the snapshot until the next call.
  void Index(const v1::NodeSnapshot& snapshot);

  // A gap says that a value could not be read. Without one, no optional field is UNKNOWN.
  bool HasUnread() const { return !unread_.empty(); }
  bool empty() const { return unread_.empty() && none_.empty(); }
  // The gap that covers the source, or is about the whole inspector; one that says that the value
  // could not be read before others. nullptr: none.
  const v1::Gap* Find(std::string_view source, Input input) const;

 private:
  struct Entry {
    const v1::Gap* gap = nullptr;
    std::string_view last;  // Name in its path; a source that does not contain it is not covered
  };
  static const v1::Gap* FindIn(const std::vector<Entry>& entries, std::string_view source,
                               Input input);

  std::vector<Entry> unread_;
  std::vector<Entry> none_;  // See SaysThatThereIsNone()
};

}  // namespace fabric::rules
