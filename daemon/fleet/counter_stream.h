// A node's counters in motion, as the controller takes them: tables and samples of counters.proto
// put together again. What an agent sends may be anything.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "fabric/v1/counters.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

// Where the counters of one snapshot stand in the table they came with. A value without threads.
class CounterStream {
 public:
  // Makes the table's counters those of the snapshot. INVALID_ARGUMENT, and nothing changed, when
  // the table is larger than any node's.
  Status Take(const v1::CounterTable& table, v1::NodeSnapshot& snapshot);

  // Changes the snapshot's counters. FAILED_PRECONDITION: a sample of another table than the last;
  // INVALID_ARGUMENT: one that cannot be. Nothing is changed then.
  Status Take(const v1::CounterSample& sample, v1::NodeSnapshot& snapshot);

  // Set and place within it of the table's counter; nothing for one that is not in the snapshot.
  std::optional<std::pair<int, int>> PlaceOf(std::uint32_t index) const;

  // The snapshot was replaced: no sample fits until the next table.
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
