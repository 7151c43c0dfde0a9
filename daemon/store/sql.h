// The part of SQL that the store needs, implemented by SQLite (database.h) and PostgreSQL
// (postgres/database.h). Both run the same statements: parameters are $1, $2, ... in the order of
// their first use, and sequences are assigned by the statements. Failures are a Status with the
// path or the address. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::store {

class BackupSteps;

// One prepared statement. Parameters and columns are numbered from 0. Must not outlive its
// database. Run to the last row, or Reset, before another statement starts.
class SqlStatement {
 public:
  virtual ~SqlStatement() = default;

  virtual SqlStatement& Bind(int parameter, std::int64_t value) = 0;
  virtual SqlStatement& Text(int parameter, std::string_view value) = 0;
  virtual SqlStatement& Blob(int parameter, std::string_view value) = 0;

  // True if there is a row. After false or a failure the statement can be bound and run again.
  virtual Result<bool> Step() = 0;
  // Runs a statement without rows. Within a transaction that is not durable, a failure may be that
  // of the next statement, or of Commit.
  virtual Status Run();
  // Ends a query before its last row.
  virtual void Reset() = 0;

  virtual std::int64_t Number(int column) const = 0;
  virtual std::string_view Bytes(int column) const = 0;  // Valid until the next Step or Reset.
};

class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  // Runs one or more statements without parameters; ignores rows.
  virtual Status Execute(const std::string& sql) = 0;
  virtual Result<std::unique_ptr<SqlStatement>> Make(std::string_view sql) = 0;
  // The first column of the only row.
  Result<std::int64_t> Number(std::string_view sql);

  // Starts a transaction. `durable`: after its end, it and all earlier writes survive a power
  // failure.
  virtual Status Begin(bool durable) = 0;
  virtual Status Commit() = 0;
  virtual void Rollback() = 0;

  virtual Result<std::int64_t> Bytes() = 0;      // Size on disk
  virtual Result<std::int64_t> LiveBytes() = 0;  // Without free space; 0: rows are the only limit
  // Returns up to `pages_at_once` free pages to the file system if there are more than
  // `pages_free`. True: there can be more.
  virtual Result<bool> ReturnSpace(std::int64_t pages_free, std::int64_t pages_at_once) = 0;
  virtual Status CopyToFile(const std::string& path) = 0;  // See Store::Backup
  // Begins such a copy in steps. nullptr: it is made in one step.
  virtual Result<std::unique_ptr<BackupSteps>> BeginCopy(const std::string& path);

  virtual const std::string& path() const = 0;  // For messages: file, or address without secrets
};

}  // namespace fabric::store
