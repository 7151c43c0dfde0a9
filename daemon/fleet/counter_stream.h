// Decoder of counter tables and samples (counters.proto) into a node's snapshot. Input from agents
// is not trusted: it is checked before it is applied.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fabric/v1/counters.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

// Maps indexes of the last counter table to the snapshot's counters. A value without threads.
class CounterStream {
 public:
  // Replaces the snapshot's counters with the table's. INVALID_ARGUMENT, without any change, when
  // the table exceeds the limits (4096 sets, 65,536 counters, names of 256 bytes).
  Status Take(const v1::CounterTable& table, v1::NodeSnapshot& snapshot);

  // Applies a sample to the snapshot's counters. FAILED_PRECONDITION: the sample belongs to another
  // table; INVALID_ARGUMENT: it is malformed. On failure nothing changes.
  Status Take(const v1::CounterSample& sample, v1::NodeSnapshot& snapshot);

  // Set, and position within it, of the table's counter. Empty when the snapshot lacks it.
  std::optional<std::pair<int, int>> PlaceOf(std::uint32_t index) const;

  // The snapshot was replaced: reject samples until the next table.
  void Reset() { table_id_.reset(); }

 private:
  Status Check(const v1::CounterSample& sample) const;
  bool IsLost(std::uint32_t index) const;
  void Lose(const v1::CounterSample& sample, v1::NodeSnapshot& snapshot);

  std::optional<std::uint32_t> table_id_;
  std::vector<std::uint32_t> starts_;  // Index of the first counter of each set, then their number
  std::vector<std::uint32_t> lost_;    // Indices no longer in the snapshot, ascending
};

}  // namespace fabric::fleet
