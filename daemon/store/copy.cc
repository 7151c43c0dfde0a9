#include "daemon/store/copy.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/store/postgres/database.h"
#include "daemon/store/postgres/lease.h"
#include "daemon/store/postgres/postgres.h"
#include "daemon/store/schema.h"

namespace fabric::store {
namespace {

constexpr Duration kPatience = std::chrono::minutes(10);  // For one answer
constexpr Duration kLeaseDuration = std::chrono::hours(1);

constexpr std::array kCopiedTables = {
    "nodes",     "findings",         "finding_history", "silences",
    "campaigns", "pair_results",     "certificates",    "schedules",
    "fact_logs", "fact_changes",     "counter_marks",   "days",
    "numbers",   "subnet_histories", "node_actions",    "node_labels"};

struct Column {
  std::string name;
  std::string type;  // As SQLite has it
};

Result<std::vector<Column>> ColumnsOf(Database& sqlite, std::string_view table) {
  ASSIGN_OR_RETURN(Statement query,
                   sqlite.Prepare(Format("SELECT name, type FROM pragma_table_info('{}')", table)));
  std::vector<Column> columns;
  if (table == "silences") columns.push_back({"rowid", "INTEGER"});  // Retention compares it.
  while (true) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return columns;
    columns.push_back({std::string(query.Bytes(0)), std::string(query.Bytes(1))});
  }
}

Result<std::uint64_t> CopyTable(SqlDatabase& from, SqlDatabase& to, std::string_view table,
                                const std::vector<Column>& columns) {
  std::vector<std::string> names, places;
  for (const Column& column : columns) {
    names.push_back(column.name);
    places.push_back(Format("${}", places.size() + 1));
  }
  const std::string list = Join(names, ", ");
  ASSIGN_OR_RETURN(const auto read,
                   from.Make(Format("SELECT {} FROM {} ORDER BY {}", list, table, names.front())));
  ASSIGN_OR_RETURN(const auto write, to.Make(Format("INSERT INTO {} ({}) VALUES ({})", table, list,
                                                    Join(places, ", "))));
  std::uint64_t rows = 0;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, read->Step());
    if (!row) return rows;
    for (int at = 0; at < static_cast<int>(columns.size()); ++at) {
      const std::string& type = columns[static_cast<std::size_t>(at)].type;
      if (type == "INTEGER")
        write->Bind(at, read->Number(at));
      else if (type == "TEXT")
        write->Text(at, read->Bytes(at));
      else
        write->Blob(at, read->Bytes(at));
    }
    RETURN_IF_ERROR(write->Run());
    ++rows;
  }
}

Status CheckEmpty(SqlDatabase& to, const std::string& shown) {
  for (const char* const table : kCopiedTables) {
    if (std::string_view(table) == "numbers" || std::string_view(table) == "days") continue;
    ASSIGN_OR_RETURN(const std::int64_t rows, to.Number(Format("SELECT count(*) FROM {}", table)));
    if (rows > 0)
      return {
          Code::kFailedPrecondition,
          Format("{}: expected an empty state, saw {} rows in the table {}", shown, rows, table)};
  }
  return {};
}

// In one transaction of the target.
Result<std::uint64_t> CopyTables(SqlDatabase& from, SqlDatabase& to, Database& sqlite) {
  RETURN_IF_ERROR(CheckEmpty(to, to.path()));
  RETURN_IF_ERROR(to.Execute("DELETE FROM numbers; DELETE FROM days;"));
  std::uint64_t rows = 0;
  for (const char* const table : kCopiedTables) {
    ASSIGN_OR_RETURN(const std::vector<Column> columns, ColumnsOf(sqlite, table));
    ASSIGN_OR_RETURN(const std::uint64_t copied, CopyTable(from, to, table, columns));
    rows += copied;
  }
  return rows;
}

// The database with the lease of this process, so that no controller leads meanwhile.
struct Held {
  std::unique_ptr<Lease> lease;
  Term term;
  std::unique_ptr<PostgresDatabase> database;
};

Result<Held> Hold(const std::string& text) {
  ASSIGN_OR_RETURN(const PostgresUrl url, ParsePostgresUrl(text));
  Held held;
  held.lease = std::make_unique<Lease>(
      url, LeaseOptions{.holder = "copy", .address = "", .duration = kLeaseDuration}, kPatience);
  LeaseRow row;
  ASSIGN_OR_RETURN(const auto term, held.lease->Take(row));
  if (!term)
    return Status(Code::kFailedPrecondition,
                  Format("{}: expected no controller that leads, saw {}: stop all controllers",
                         url.shown, row.address.empty() ? row.holder : row.address));
  held.term = *term;
  // Creates the tables.
  auto opened = OpenPostgres(url, *term, kPatience);
  Status status = opened.status();
  if (status.ok()) {
    auto database = PostgresDatabase::Open(url, *term, kPatience);
    status = database.status();
    if (status.ok()) held.database = *std::move(database);
  }
  if (status.ok()) return held;
  (void)held.lease->Release(*term);
  return status;
}

Result<std::uint64_t> CopyHeld(Held& held, Database& sqlite, bool to_postgres) {
  SqlDatabase& postgres = *held.database;
  SqlDatabase& from = to_postgres ? static_cast<SqlDatabase&>(sqlite) : postgres;
  SqlDatabase& to = to_postgres ? postgres : static_cast<SqlDatabase&>(sqlite);
  RETURN_IF_ERROR(to.Begin(true));
  auto rows = CopyTables(from, to, sqlite);
  Status status = rows.status();
  // Numbers that must not repeat start above those of both.
  if (status.ok())
    status = to.Execute(
        to_postgres ? "SELECT setval(pg_get_serial_sequence('silences', 'rowid'), "
                      "(SELECT coalesce(max(rowid), 0) + 1 FROM silences), false); "
                      "UPDATE lease SET expires = '-infinity', epoch = greatest(epoch, "
                      "(SELECT coalesce(max(value), 0) FROM numbers WHERE name = 'epoch'))"
                    : Format("INSERT INTO numbers VALUES ('epoch', {}) ON CONFLICT (name) DO "
                             "UPDATE SET value = max(value, excluded.value);",
                             held.term.epoch));
  if (status.ok()) status = to.Commit();
  if (status.ok()) return rows;
  to.Rollback();
  return status;
}

}  // namespace

Result<std::uint64_t> CopyState(const std::string& from, const std::string& to) {
  const bool to_postgres = IsPostgresUrl(to);
  if (to_postgres == IsPostgresUrl(from))
    return Status(Code::kInvalidArgument,
                  "expected a file and a URL of PostgreSQL, saw two of one kind");
  const std::string& file = to_postgres ? from : to;
  if (to_postgres && !std::filesystem::exists(file))
    return Status(Code::kNotFound, file + ": No such file or directory");
  ASSIGN_OR_RETURN(Database sqlite, OpenDatabase(file));
  ASSIGN_OR_RETURN(Held held, Hold(to_postgres ? to : from));
  const auto rows = CopyHeld(held, sqlite, to_postgres);
  (void)held.lease->Release(held.term);
  return rows;
}

}  // namespace fabric::store
