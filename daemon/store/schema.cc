#include "daemon/store/schema.h"

#include <iterator>
#include <utility>

#include "base/text.h"

namespace fabric::store {
namespace {

// Messages are kept as protobuf bytes; columns exist for what is searched. Times are nanoseconds
// since 1970. Tables that only grow have an ascending key: appending there is what SQLite does
// best.
constexpr const char* kVersion1 = R"(
CREATE TABLE nodes (
  name TEXT PRIMARY KEY,
  taken_at INTEGER NOT NULL,
  snapshot BLOB NOT NULL
);
CREATE TABLE findings (
  id TEXT PRIMARY KEY,
  open INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  finding BLOB NOT NULL
);
CREATE INDEX findings_open ON findings (id) WHERE open = 1;
CREATE TABLE finding_history (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  resolved INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  finding BLOB NOT NULL
);
CREATE INDEX finding_history_resolved ON finding_history (sequence) WHERE resolved = 1;
CREATE TABLE campaigns (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  campaign BLOB NOT NULL
);
CREATE TABLE pair_results (
  sequence INTEGER PRIMARY KEY,
  campaign TEXT NOT NULL,
  ended_at INTEGER NOT NULL,
  result BLOB NOT NULL
);
CREATE INDEX pair_results_campaign ON pair_results (campaign);
)";

// Action and author of a transition; empty in rows of version 1.
constexpr const char* kVersion2 = R"(
ALTER TABLE finding_history ADD COLUMN record BLOB NOT NULL DEFAULT x'';
CREATE INDEX finding_history_id ON finding_history (id);
CREATE TABLE silences (
  id TEXT PRIMARY KEY,
  until INTEGER NOT NULL,
  silence BLOB NOT NULL
);
)";

// Setting changes, and the start of each node's log.
constexpr const char* kVersion3 = R"(
CREATE TABLE fact_logs (
  node TEXT PRIMARY KEY,
  since INTEGER NOT NULL
);
CREATE TABLE fact_changes (
  sequence INTEGER PRIMARY KEY,
  node TEXT NOT NULL,
  at INTEGER NOT NULL,
  change BLOB NOT NULL
);
CREATE INDEX fact_changes_node ON fact_changes (node, sequence);
)";

// Counter values.
constexpr const char* kVersion4 = R"(
CREATE TABLE counter_marks (
  sequence INTEGER PRIMARY KEY,
  node TEXT NOT NULL,
  at INTEGER NOT NULL,
  counters BLOB NOT NULL
);
CREATE INDEX counter_marks_node ON counter_marks (node, at);
)";

// Step i migrates version i to i + 1; an empty file has version 0.
constexpr const char* kSteps[] = {kVersion1, kVersion2, kVersion3, kVersion4};
static_assert(std::size(kSteps) == kSchemaVersion);

// Runs all steps or none.
Status BringUpToDate(Database& database, std::int64_t version) {
  std::string steps;
  for (std::int64_t at = version; at < kSchemaVersion; ++at) steps += kSteps[at];
  Status status = database.Execute(
      Format("BEGIN IMMEDIATE;{}PRAGMA application_id = {};PRAGMA user_version = {};COMMIT;", steps,
             kApplicationId, kSchemaVersion));
  // A failed ROLLBACK means that there is no transaction, which is fine.
  if (!status.ok()) (void)database.Execute("ROLLBACK;");
  return status;
}

}  // namespace

Result<Database> OpenDatabase(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, Database::Open(path));
  // Exclusive: two controllers on one file would overwrite each other's findings. It has to be set
  // before the first access; with it WAL needs no shared memory file either.
  RETURN_IF_ERROR(database.Execute("PRAGMA locking_mode = EXCLUSIVE;"));
  ASSIGN_OR_RETURN(const std::int64_t application, database.Number("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const std::int64_t version, database.Number("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const std::int64_t tables,
                   database.Number("SELECT count(*) FROM sqlite_schema"));
  const bool fresh = tables == 0 && application == 0 && version == 0;
  if (!fresh && application != kApplicationId)
    return Status(Code::kFailedPrecondition,
                  Format("{}: belongs to another program: expected application id {:#x}, saw {:#x}",
                         path, kApplicationId, application));
  if (!fresh && version < 1)
    return Status(Code::kFailedPrecondition, Format("{}: expected schema version 1 to {}, saw {}",
                                                    path, kSchemaVersion, version));
  if (version > kSchemaVersion)
    return Status(
        Code::kFailedPrecondition,
        Format("{}: written by a newer version: expected schema version {} or older, saw {}", path,
               kSchemaVersion, version));
  // Power loss can lose the last writes but does not corrupt the file.
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"));
  if (version < kSchemaVersion) RETURN_IF_ERROR(BringUpToDate(database, version));
  // Takes the write lock; with exclusive locking it is kept.
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE; COMMIT;"));
  return database;
}

Status Prune(Database& database, const Bounds& bounds) {
  const std::string sql = Format(
      R"(
BEGIN IMMEDIATE;
DELETE FROM pair_results WHERE campaign IN
  (SELECT id FROM campaigns WHERE sequence <= (SELECT max(sequence) FROM campaigns) - {0});
DELETE FROM campaigns WHERE sequence <= (SELECT max(sequence) FROM campaigns) - {0};
DELETE FROM pair_results WHERE sequence <= (SELECT max(sequence) FROM pair_results) - {1};
DELETE FROM pair_results WHERE sequence < (SELECT min(sequence) FROM pair_results
  WHERE ended_at >= (SELECT ended_at FROM pair_results ORDER BY sequence DESC LIMIT 1) - {3});
DELETE FROM findings WHERE open = 0 AND changed_at < (SELECT max(changed_at) FROM findings) - {3};
DELETE FROM silences WHERE until < (SELECT max(until) FROM silences) - {3};
DELETE FROM finding_history WHERE sequence <= (SELECT max(sequence) FROM finding_history) - {2};
DELETE FROM finding_history WHERE sequence < (SELECT min(sequence) FROM finding_history
  WHERE changed_at >=
    (SELECT changed_at FROM finding_history ORDER BY sequence DESC LIMIT 1) - {3});
UPDATE fact_logs SET since = max(since, coalesce((SELECT max(at) FROM fact_changes
  WHERE node = fact_logs.node AND
    (sequence <= (SELECT max(sequence) FROM fact_changes) - {4} OR
     at < (SELECT at FROM fact_changes ORDER BY sequence DESC LIMIT 1) - {3})), since));
DELETE FROM fact_changes WHERE sequence <= (SELECT max(sequence) FROM fact_changes) - {4} OR
  at < (SELECT at FROM fact_changes ORDER BY sequence DESC LIMIT 1) - {3};
DELETE FROM counter_marks WHERE
  at < (SELECT at FROM counter_marks ORDER BY sequence DESC LIMIT 1) - {5};
COMMIT;
)",
      bounds.campaigns, bounds.pair_results, bounds.history, bounds.age_ns, bounds.fact_changes,
      bounds.mark_age_ns);
  Status status = database.Execute(sql);
  if (!status.ok()) (void)database.Execute("ROLLBACK;");
  return status;
}

}  // namespace fabric::store
