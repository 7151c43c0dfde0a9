// Schema of the state file: tables, version, limits.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "daemon/store/database.h"

namespace fabric::store {

inline constexpr std::int32_t kApplicationId = 0x66616272;  // "fabr", in the file's header
inline constexpr std::int32_t kSchemaVersion = 4;           // In user_version

// Limits of the state file. Ages count back from the newest row of the same table, so that pruning
// needs no clock. Nodes are never removed: one row each.
struct Bounds {
  std::int64_t campaigns = 1'000;         // Oldest ones are removed with their results
  std::int64_t pair_results = 2'000'000;  // About 600 MB
  std::int64_t history = 200'000;         // Transitions of findings
  std::int64_t fact_changes = 500'000;    // Reports with changes; about 300 bytes each
  std::int64_t changes_of_node = 2'000;   // Of one node, so that one node cannot use all space
  std::int64_t age_ns =
      90LL * 24 * 3600 *
      1'000'000'000;  // Results, transitions, resolved findings, changes, ended silences
  std::int64_t marks_of_node = 25;                         // 4 to 8 kB each
  std::int64_t mark_age_ns = 48LL * 3600 * 1'000'000'000;  // For removed nodes
  std::int64_t writes_between = 1'000;  // Rows between two prunings; also pruned when opened
};

// Opens the file, checks its application id and version, and creates or migrates its tables.
Result<Database> OpenDatabase(const std::string& path);

// Removes rows beyond the limits, in one transaction.
Status Prune(Database& database, const Bounds& bounds);

}  // namespace fabric::store
