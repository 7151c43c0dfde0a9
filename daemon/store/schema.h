// The tables of the state file, their version and their bounds.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "daemon/store/database.h"

namespace fabric::store {

inline constexpr std::int32_t kApplicationId = 0x66616272;  // "fabr", in the file's header
inline constexpr std::int32_t kSchemaVersion = 4;           // In user_version

// What the state file keeps at most. Age counts back from the newest row of the same table, so that
// pruning needs no clock. Nodes are kept for good: one row each.
struct Bounds {
  std::int64_t campaigns = 1'000;         // Newest ones; the results of older ones go with them
  std::int64_t pair_results = 2'000'000;  // About 600 MB
  std::int64_t history = 200'000;         // Transitions of findings
  std::int64_t fact_changes = 500'000;    // Reports that changed something; about 300 bytes each
  std::int64_t changes_of_node = 2'000;  // Of them of one node, so that one cannot crowd out others
  std::int64_t age_ns =
      90LL * 24 * 3600 *
      1'000'000'000;  // Of results, transitions, resolved findings, changes, ended silences
  std::int64_t marks_of_node = 25;                         // 4 to 8 kB each
  std::int64_t mark_age_ns = 48LL * 3600 * 1'000'000'000;  // Of nodes that are gone
  std::int64_t writes_between = 1'000;  // Pruned at opening and after so many added rows
};

// Opens the file, checks that it is ours and of a version that we know, creates the tables or
// brings those of an older version up to date.
Result<Database> OpenDatabase(const std::string& path);

// Removes what is beyond the bounds, in one transaction.
Status Prune(Database& database, const Bounds& bounds);

}  // namespace fabric::store
