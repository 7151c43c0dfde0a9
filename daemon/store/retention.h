// Limits of the store, and the removal of rows beyond them. Ages count the time that the
// controller runs: `days` stores the last row of each table at the end of each such day. The wall
// clock is not used, so a wrong clock removes nothing.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/store/sql.h"

namespace fabric::store {

struct Bounds {
  std::int64_t campaigns = 1'000;         // Oldest ones are removed with their results
  std::int64_t pair_results = 2'000'000;  // About 600 MB
  std::int64_t history = 200'000;         // Transitions of findings
  std::int64_t fact_changes = 500'000;    // Reports with changes; about 300 bytes each
  std::int64_t changes_of_node = 2'000;   // Of one node, so that one node cannot use all space
  std::int64_t certificates = 200;
  std::int64_t marks_of_node = 25;    // 4 to 8 kB each
  std::int64_t days = 90;             // Results, transitions, resolved findings, changes
  std::int64_t silence_days = 90;     // Ended silences, from their start
  std::int64_t bytes = 1LL << 30;     // Oldest results, transitions and changes are removed
  std::int64_t rows_at_once = 2'000;  // Removed from a table by one call of Prune
  std::int64_t pages_free = 1'024;    // Free pages that stay in the file, 4 MB
  std::int64_t pages_at_once = 256;   // Returned to the file system by one call of Prune
};

// Adds to the running time; at the end of a day, notes the last rows of the tables.
Status AddRunningTime(SqlDatabase& database, Duration ran);

// Removes rows beyond the limits, at most some thousands, in one transaction, and returns free
// pages to the file system. `now`: silences that have not ended stay. True: there is more to
// remove.
Result<bool> Prune(SqlDatabase& database, const Bounds& bounds, WallTime now);

}  // namespace fabric::store
