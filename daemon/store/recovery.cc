#include "daemon/store/recovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/text.h"
#include "daemon/store/schema.h"
#include "fabric/v1/finding.pb.h"
#include "proto/timestamps.h"

namespace fabric::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLog = "-wal";
constexpr std::string_view kRecovered = ".recovered";  // The new file, until it is complete

// What people said comes first: a disk can become full.
constexpr std::array kTables = {"silences",        "node_actions",  "node_labels",     "findings",
                                "finding_history", "numbers",       "certificates",    "schedules",
                                "campaigns",       "nodes",         "pair_results",    "fact_logs",
                                "fact_changes",    "counter_marks", "subnet_histories"};

// Whether the file is a state file of fabricd by its header, or its header was zeroed, as after a
// power failure.
bool IsStateFile(const std::string& path) {
  std::array<char, 72> header{};
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), header.size());
  if (file.gcount() < static_cast<std::streamsize>(header.size())) return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(header[at]); };
  const std::uint32_t id =
      static_cast<std::uint32_t>(byte(68)) << 24 | byte(69) << 16 | byte(70) << 8 | byte(71);
  const bool zeroed = std::all_of(header.begin(), header.end(), [](char c) { return c == 0; });
  return zeroed || id == static_cast<std::uint32_t>(kApplicationId);
}

Result<Database> OpenChecked(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, OpenDatabase(path));
  ASSIGN_OR_RETURN(Statement check, database.Prepare("PRAGMA quick_check(1)"));
  ASSIGN_OR_RETURN(const bool row, check.Step());
  const std::string answer(row ? check.Bytes(0) : "");
  if (answer == "ok") return database;
  return Status(Code::kDataLoss, Format("{}: the database is damaged: {}", path, answer));
}

bool IsDamage(const Status& status, const std::string& path) {
  return status.code() == Code::kDataLoss ||
         (status.code() == Code::kFailedPrecondition &&
          status.message() == path + ": not an SQLite database");
}

// Columns that both files have.
Result<std::vector<std::string>> Columns(Database& from, Database& to, std::string_view table) {
  const auto names = [&](Database& database) -> Result<std::vector<std::string>> {
    ASSIGN_OR_RETURN(Statement query,
                     database.Prepare(Format("SELECT name FROM pragma_table_info('{}')", table)));
    std::vector<std::string> columns;
    while (true) {
      ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) return columns;
      columns.emplace_back(query.Bytes(0));
    }
  };
  ASSIGN_OR_RETURN(const std::vector<std::string> old, names(from));
  ASSIGN_OR_RETURN(std::vector<std::string> columns, names(to));
  std::erase_if(columns, [&](const std::string& name) {
    return std::find(old.begin(), old.end(), name) == old.end();
  });
  return columns;
}

// Copies the rows of one table that can be read.
class TableCopy {
 public:
  static Result<TableCopy> Make(Database& from, Database& to, std::string_view table);

  // Returns the number of rows.
  Result<std::uint64_t> Run() {
    RETURN_IF_ERROR(Pass(up_, 1));
    // What lies behind the damage, from the end.
    if (stopped_) RETURN_IF_ERROR(Pass(down_, -1));
    return copied_;
  }

 private:
  static constexpr int kSeeksMax = 2'000;  // Of one pass, in damaged places

  TableCopy(Statement up, Statement down, Statement add, int columns)
      : up_(std::move(up)), down_(std::move(down)), add_(std::move(add)), columns_(columns) {}

  Status Pass(Statement& query, int direction);
  Status Add(const Statement& row);

  Statement up_, down_, add_;
  int columns_;
  std::uint64_t copied_ = 0;
  bool stopped_ = false;  // By damage
};

Result<TableCopy> TableCopy::Make(Database& from, Database& to, std::string_view table) {
  ASSIGN_OR_RETURN(const std::vector<std::string> columns, Columns(from, to, table));
  if (columns.empty()) return Status(Code::kNotFound, Format("no table {}", table));
  const std::string list = Join(columns, ", ");
  std::string places = "?";
  for (std::size_t n = 1; n < columns.size(); ++n) places += ", ?";
  const auto query = [&](std::string_view relation, std::string_view order) {
    return from.Prepare(
        Format("SELECT rowid, {0} FROM {1} NOT INDEXED WHERE rowid {2} ? "
               "ORDER BY rowid {3}",
               list, table, relation, order));
  };
  ASSIGN_OR_RETURN(Statement up, query(">", "ASC"));
  ASSIGN_OR_RETURN(Statement down, query("<", "DESC"));
  ASSIGN_OR_RETURN(Statement add, to.Prepare(Format("INSERT OR IGNORE INTO {} ({}) VALUES ({})",
                                                    table, list, places)));
  return TableCopy(std::move(up), std::move(down), std::move(add),
                   static_cast<int>(columns.size()));
}

Status TableCopy::Add(const Statement& row) {
  for (int column = 0; column < columns_; ++column) add_.Copy(column, row, column + 1);
  RETURN_IF_ERROR(add_.Run());
  ++copied_;
  return {};
}

// Reads from one end. Behind a row that cannot be read, it continues at growing distances.
Status TableCopy::Pass(Statement& query, int direction) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  std::int64_t at = direction > 0 ? -1 : kEnd;
  std::int64_t distance = 1;
  for (int seeks = 0; seeks < kSeeksMax;) {
    query.Bind(0, at);
    auto row = query.Step();
    while (row.ok() && *row) {
      at = query.Number(0);
      distance = 1;
      if (const Status added = Add(query); !added.ok()) {
        query.Reset();
        return added;
      }
      row = query.Step();
    }
    if (row.ok()) return {};
    stopped_ = true;
    ++seeks;
    const bool over = direction > 0 ? at > kEnd - distance : at < distance;
    if (over || at == kEnd) return {};
    at += direction * distance;
    if (distance <= kEnd / 2) distance *= 2;
  }
  return {};
}

// Findings and silences whose rows are lost, from the history and from the findings.
Status Reconstruct(Database& database) {
  RETURN_IF_ERROR(database.Execute(R"(
INSERT OR IGNORE INTO findings SELECT id, 1 - resolved, changed_at, finding FROM finding_history
  WHERE sequence IN (SELECT max(sequence) FROM finding_history GROUP BY id);
)"));
  ASSIGN_OR_RETURN(Statement open, database.Prepare("SELECT finding FROM findings WHERE open = 1"));
  ASSIGN_OR_RETURN(Statement add,
                   database.Prepare("INSERT OR IGNORE INTO silences VALUES (?, ?, ?)"));
  while (true) {
    ASSIGN_OR_RETURN(const bool row, open.Step());
    if (!row) return {};
    const std::string_view bytes = open.Bytes(0);
    v1::Finding finding;
    if (!finding.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) continue;
    const v1::Silence& silence = finding.silenced();
    if (!finding.has_silenced()) continue;
    RETURN_IF_ERROR(add.Text(0, silence.id())
                        .Bind(1, Nanoseconds(silence.until()))
                        .Blob(2, silence.SerializeAsString())
                        .Run());
  }
}

// Fills the new file. Tables that cannot be read at all stay empty.
Result<std::uint64_t> CopyRows(const std::string& damaged, Database& to) {
  std::uint64_t copied = 0;
  auto from = Database::Open(damaged);
  if (from.ok()) (void)from->Execute("PRAGMA locking_mode = EXCLUSIVE;");
  RETURN_IF_ERROR(to.Execute("BEGIN;"));
  for (const char* const table : kTables) {
    if (!from.ok()) break;
    auto copy = TableCopy::Make(*from, to, table);
    if (!copy.ok()) continue;
    ASSIGN_OR_RETURN(const std::uint64_t rows, copy->Run());
    copied += rows;
  }
  RETURN_IF_ERROR(Reconstruct(to));
  RETURN_IF_ERROR(to.Execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);"));
  return copied;
}

Status Rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? Status() : FromErrno(errno, from);
}

void Remove(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  fs::remove(path + std::string(kLog), ignored);
}

// Moves the log of the damaged file aside, because it does not belong to the new file, and the new
// file into place.
Status Install(const std::string& path, const std::string& aside) {
  const std::string log = path + std::string(kLog);
  if (fs::exists(log)) RETURN_IF_ERROR(Rename(log, aside + std::string(kLog)));
  return Rename(path + std::string(kRecovered), path);
}

// Each step leaves files from which the next start continues.
Status Replace(const std::string& path, WallTime now, Damage& damage) {
  const std::string next = path + std::string(kRecovered);
  const std::string aside = Format("{}.damaged-{}", path, FileStamp(now));
  Remove(next);
  {
    ASSIGN_OR_RETURN(Database made, OpenDatabase(next));
    ASSIGN_OR_RETURN(damage.recovered, CopyRows(path, made));
  }
  RETURN_IF_ERROR(Rename(path, aside));
  damage.file = aside;
  RETURN_IF_ERROR(Install(path, aside));
  return SyncDirectoryOf(path);
}

}  // namespace

namespace {

// A damaged file may be replaced, but not one that another process has open.
Status CheckUnused(const std::string& path) {
  const Status status = OpenDatabase(path).status();
  return status.code() == Code::kUnavailable ? status : Status();
}

Status GiveToOwnerOfDirectory(const std::string& path) {
  struct stat directory {};
  const std::string parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  if (::geteuid() != 0 || ::stat(parent.c_str(), &directory) != 0) return {};
  if (::chown(path.c_str(), directory.st_uid, directory.st_gid) == 0) return {};
  return FromErrno(errno, path + ": cannot change the owner");
}

// The new file next to the state file, checked and migrated.
Status Prepare(const std::string& backup, const std::string& next) {
  Remove(next);
  std::error_code error;
  fs::copy_file(backup, next, error);
  if (error) return FromErrno(error.value(), Format("cannot copy {} to {}", backup, next));
  ASSIGN_OR_RETURN(Database database, OpenChecked(next));
  // OpenDatabase has made it private; closing it writes its log into it.
  return database.Execute("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE);");
}

}  // namespace

Result<std::string> Restore(const std::string& backup, const std::string& path, WallTime now) {
  if (!fs::exists(backup)) return Status(Code::kNotFound, backup + ": no such file");
  if (!IsStateFile(backup))
    return Status(Code::kFailedPrecondition,
                  backup + ": expected a backup of fabricd's state file, saw another file");
  const bool exists = fs::exists(path);
  if (exists && fs::equivalent(backup, path))
    return Status(Code::kInvalidArgument, backup + ": is the state file itself");
  if (exists) RETURN_IF_ERROR(CheckUnused(path));
  const std::string next = path + std::string(kRecovered);
  if (const Status prepared = Prepare(backup, next); !prepared.ok()) {
    Remove(next);
    return prepared.In(backup);
  }
  RETURN_IF_ERROR(GiveToOwnerOfDirectory(next));
  const std::string aside = Format("{}.replaced-{}", path, FileStamp(now));
  // Killed between these steps, the next start continues.
  if (exists) RETURN_IF_ERROR(Rename(path, aside));
  RETURN_IF_ERROR(Install(path, aside));
  RETURN_IF_ERROR(SyncDirectoryOf(path));
  return exists ? aside : std::string();
}

Result<bool> RestoreIfMissing(const std::string& backup, const std::string& path) {
  if (!fs::exists(backup) || fs::exists(path)) return false;
  const std::string next = path + std::string(kRecovered);
  Remove(next);
  std::error_code error;
  fs::copy_file(backup, next, error);
  if (error) return FromErrno(error.value(), Format("cannot copy {} to {}", backup, next));
  fs::permissions(next, fs::perms::owner_read | fs::perms::owner_write, error);
  if (error) return FromErrno(error.value(), next);
  RETURN_IF_ERROR(GiveToOwnerOfDirectory(next));
  RETURN_IF_ERROR(Rename(next, path));
  RETURN_IF_ERROR(SyncDirectoryOf(path));
  return true;
}

std::string FileStamp(WallTime time) {
  std::string stamp = ToString(ToProto(time));
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  return stamp.empty() ? "0" : stamp;
}

Result<Database> OpenOrRecover(const std::string& path, WallTime now, Damage& damage) {
  const std::string next = path + std::string(kRecovered);
  // Killed between the last steps of Replace.
  if (!fs::exists(path) && fs::exists(next))
    RETURN_IF_ERROR(Install(path, Format("{}.damaged-{}", path, FileStamp(now))));
  Status damaged;
  {
    auto database = OpenChecked(path);
    if (database.ok()) return database;
    damaged = database.status();
  }
  if (!IsDamage(damaged, path) || !IsStateFile(path)) return damaged;
  RETURN_IF_ERROR(Replace(path, now, damage).In("cannot replace the damaged state file"));
  return OpenDatabase(path);
}

}  // namespace fabric::store
