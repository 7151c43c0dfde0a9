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

// Certificates; numbers that persist; the last rows of tables on each day of running time.
constexpr const char* kVersion5 = R"(
CREATE TABLE certificates (
  sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  certificate BLOB NOT NULL
);
CREATE TABLE numbers (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
);
CREATE TABLE days (
  day INTEGER PRIMARY KEY,
  pair_results INTEGER NOT NULL,
  finding_history INTEGER NOT NULL,
  fact_changes INTEGER NOT NULL,
  silences INTEGER NOT NULL
);
)";

// Schedules with the history of their figures.
constexpr const char* kVersion6 = R"(
CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  schedule BLOB NOT NULL
);
)";

// What is remembered of a node; empty: nothing.
constexpr const char* kVersion7 = R"(
ALTER TABLE nodes ADD COLUMN memory BLOB NOT NULL DEFAULT x'';
)";

// Changes of InfiniBand subnets.
constexpr const char* kVersion8 = R"(
CREATE TABLE subnet_histories (
  subnet TEXT PRIMARY KEY,
  history BLOB NOT NULL
);
)";

// Drains and taints of nodes.
constexpr const char* kVersion9 = R"(
CREATE TABLE node_actions (
  id TEXT PRIMARY KEY,
  action BLOB NOT NULL
);
)";

// Labels of nodes.
constexpr const char* kVersion10 = R"(
CREATE TABLE node_labels (
  node TEXT PRIMARY KEY,
  labels BLOB NOT NULL
);
)";

constexpr const char* kSteps[] = {kVersion1, kVersion2, kVersion3, kVersion4, kVersion5,
                                  kVersion6, kVersion7, kVersion8, kVersion9, kVersion10};
static_assert(std::size(kSteps) == kSchemaVersion);

constexpr std::int64_t kIncremental = 2;  // PRAGMA auto_vacuum

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

std::span<const char* const> SchemaSteps() {
  return kSteps;
}

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
  // So that removed rows free space. Files of older versions need one VACUUM for it; if that fails,
  // the next start repeats it.
  ASSIGN_OR_RETURN(const std::int64_t vacuum, database.Number("PRAGMA auto_vacuum"));
  if (vacuum != kIncremental) {
    const std::string set = Format("PRAGMA auto_vacuum = {};", kIncremental);
    (void)database.Execute(fresh ? set : set + "VACUUM;");
  }
  // Power loss can lose the last writes but does not corrupt the file.
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"));
  if (version < kSchemaVersion) RETURN_IF_ERROR(BringUpToDate(database, version));
  // Takes the write lock; with exclusive locking it is kept.
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE; COMMIT;"));
  return database;
}

}  // namespace fabric::store
