#include "daemon/store/schema.h"

#include <utility>

#include "base/text.h"

namespace fabric::store {
namespace {

// Messages are kept as protobuf bytes; columns exist for what is searched. Times are nanoseconds
// since 1970. Tables that only grow have an ascending key: appending there is what SQLite does
// best.
constexpr const char* kTables = R"(
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

Status CreateTables(Database& database) {
  Status status = database.Execute(
      Format("BEGIN IMMEDIATE;{}PRAGMA application_id = {};PRAGMA user_version = {};COMMIT;",
             kTables, kApplicationId, kSchemaVersion));
  // A failed ROLLBACK means that there is no transaction any more, which is what is wanted.
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
  if (version > kSchemaVersion)
    return Status(
        Code::kFailedPrecondition,
        Format("{}: written by a newer version: expected schema version {} or older, saw {}", path,
               kSchemaVersion, version));
  // Power loss may take the last writes but never damages the file.
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"));
  if (fresh) RETURN_IF_ERROR(CreateTables(database));
  // Takes the write lock, for good with exclusive locking.
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
DELETE FROM finding_history WHERE sequence <= (SELECT max(sequence) FROM finding_history) - {2};
DELETE FROM finding_history WHERE sequence < (SELECT min(sequence) FROM finding_history
  WHERE changed_at >=
    (SELECT changed_at FROM finding_history ORDER BY sequence DESC LIMIT 1) - {3});
COMMIT;
)",
      bounds.campaigns, bounds.pair_results, bounds.history, bounds.age_ns);
  Status status = database.Execute(sql);
  if (!status.ok()) (void)database.Execute("ROLLBACK;");
  return status;
}

}  // namespace fabric::store
