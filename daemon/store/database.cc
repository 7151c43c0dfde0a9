#include "daemon/store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/text.h"
#include "daemon/store/sqlite_backup.h"

namespace fabric::store {
namespace {

Status Failure(sqlite3* connection, int error, const std::string& path) {
  const int system_error = connection == nullptr ? 0 : sqlite3_system_errno(connection);
  const std::string_view system = system_error == 0 ? "" : std::strerror(system_error);
  const std::string_view words =
      connection == nullptr ? sqlite3_errstr(error) : sqlite3_errmsg(connection);
  switch (error & 0xff) {
    case SQLITE_NOTADB:
      return {Code::kFailedPrecondition, Format("{}: not an SQLite database", path)};
    case SQLITE_CORRUPT:
      return {Code::kDataLoss, Format("{}: the database is damaged: {}", path, words)};
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {Code::kUnavailable, Format("{}: locked by another process", path)};
    case SQLITE_FULL: return {Code::kUnavailable, Format("{}: the disk is full", path)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermissionDenied, Format("{}: cannot be written: {}", path, words)};
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return {Code::kUnavailable, system.empty() ? Format("{}: {}", path, words)
                                                 : Format("{}: {}: {}", path, words, system)};
    default: return {Code::kInternal, Format("{}: {}", path, words)};
  }
}

// SQLite tries again for reading alone and keeps only that attempt's errno: ask the system once
// more.
Status WhyNotOpened(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return FromErrno(errno, path + ": cannot be opened");
  ::close(file);
  return {Code::kFailedPrecondition, path + ": cannot be opened as a database"};
}

int Length(std::string_view bytes) {
  return static_cast<int>(bytes.size());
}

}  // namespace

Statement::Statement(sqlite3_stmt* statement, const std::string& path)
    : statement_(statement), path_(path) {}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

// A bind fails only for a parameter that does not exist, which is our own mistake, or for want of
// memory; Step then reports it. SQLite copies the bytes.
Statement& Statement::Bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
  return *this;
}

Statement& Statement::Text(int parameter, std::string_view value) {
  sqlite3_bind_text(statement_.get(), parameter + 1, value.data(), Length(value), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::Blob(int parameter, std::string_view value) {
  // An empty blob must not become NULL, which SQLite makes of a null pointer.
  const char* const data = value.empty() ? "" : value.data();
  sqlite3_bind_blob(statement_.get(), parameter + 1, data, Length(value), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::Copy(int parameter, const Statement& row, int column) {
  sqlite3_bind_value(statement_.get(), parameter + 1,
                     sqlite3_column_value(row.statement_.get(), column));
  return *this;
}

Result<bool> Statement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  Status status;
  if (result != SQLITE_DONE) status = Failure(sqlite3_db_handle(statement_.get()), result, path_);
  Reset();
  if (!status.ok()) return status;
  return false;
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::int64_t Statement::Number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::Bytes(int column) const {
  const void* const data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Database::Database(sqlite3* connection, std::string path)
    : connection_(connection), path_(std::move(path)) {}

void Database::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Result<Database> Database::Open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int result = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(connection, path);
  if ((result & 0xff) == SQLITE_CANTOPEN) return WhyNotOpened(path);
  if (result != SQLITE_OK) return Failure(connection, result, path);
  sqlite3_extended_result_codes(connection, 1);
  // SQLite falls back to reading when it may not write.
  if (sqlite3_db_readonly(connection, "main") == 1)
    return Status(Code::kPermissionDenied, Format("{}: cannot be written", path));
  // The write-ahead log gets the permissions of the file. Only the owner of the file can do this.
  (void)MakePrivate(path);
  return database;
}

Status Database::Execute(const std::string& sql) {
  const int result = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status() : Failure(connection_.get(), result, path_);
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(connection_.get(), sql.data(), Length(sql),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) return Failure(connection_.get(), result, path_);
  return Statement(statement, path_);
}

Result<std::unique_ptr<SqlStatement>> Database::Make(std::string_view sql) {
  ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  return std::unique_ptr<SqlStatement>(std::make_unique<Statement>(std::move(statement)));
}

Status Database::Begin(bool durable) {
  if (durable) RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL;"));
  durable_ = durable;
  const Status status = Execute("BEGIN IMMEDIATE;");
  if (!status.ok()) (void)EndDurably();
  return status;
}

Status Database::EndDurably() {
  return std::exchange(durable_, false) ? Execute("PRAGMA synchronous = NORMAL;") : Status();
}

Status Database::Commit() {
  RETURN_IF_ERROR(Execute("COMMIT;"));
  (void)EndDurably();
  return {};
}

// A full disk may have ended the transaction; then there is nothing to roll back.
void Database::Rollback() {
  (void)Execute("ROLLBACK;");
  (void)EndDurably();
}

Result<std::int64_t> Database::Bytes() {
  return Number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
}

Result<std::int64_t> Database::LiveBytes() {
  return Number(
      "SELECT (page_count - freelist_count) * page_size FROM "
      "pragma_page_count, pragma_freelist_count, pragma_page_size");
}

Result<bool> Database::ReturnSpace(std::int64_t pages_free, std::int64_t pages_at_once) {
  ASSIGN_OR_RETURN(const std::int64_t free, Number("PRAGMA freelist_count"));
  if (free <= pages_free) return false;
  RETURN_IF_ERROR(Execute(Format("PRAGMA incremental_vacuum({});", pages_at_once)));
  return true;
}

Status Database::CopyToFile(const std::string& path) {
  ASSIGN_OR_RETURN(const auto steps, BeginCopy(path));
  while (true) {
    ASSIGN_OR_RETURN(const bool done, steps->Step());
    if (done) return {};
  }
}

Result<std::unique_ptr<BackupSteps>> Database::BeginCopy(const std::string& path) {
  return SqliteBackup::Begin(*this, path);
}

void DatabaseCopy::Finish::operator()(sqlite3_backup* copy) const {
  sqlite3_backup_finish(copy);
}

Result<DatabaseCopy> DatabaseCopy::Begin(Database& from, Database& to) {
  sqlite3_backup* const copy =
      sqlite3_backup_init(to.connection_.get(), "main", from.connection_.get(), "main");
  if (copy == nullptr)
    return Failure(to.connection_.get(), sqlite3_errcode(to.connection_.get()), to.path_);
  return DatabaseCopy(copy, to);
}

Result<bool> DatabaseCopy::Step(int pages) {
  const int result = sqlite3_backup_step(copy_.get(), pages);
  if (result == SQLITE_OK) return false;
  const int finished = sqlite3_backup_finish(copy_.release());
  if (result == SQLITE_DONE && finished == SQLITE_OK) return true;
  return Failure(to_->connection_.get(), finished == SQLITE_OK ? result : finished, to_->path_);
}

}  // namespace fabric::store
