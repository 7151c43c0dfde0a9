// Wrapper of the SQLite library: one connection, prepared statements, failures as Status with the
// path. Used by daemon/store only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "daemon/store/sql.h"

struct sqlite3;
struct sqlite3_backup;
struct sqlite3_stmt;

namespace fabric::store {

class Statement final : public SqlStatement {
 public:
  Statement(sqlite3_stmt* statement, const std::string& path);

  Statement& Bind(int parameter, std::int64_t value) override;
  Statement& Text(int parameter, std::string_view value) override;
  Statement& Blob(int parameter, std::string_view value) override;
  Statement& Copy(int parameter, const Statement& row, int column);  // With its type

  Result<bool> Step() override;
  void Reset() override;

  std::int64_t Number(int column) const override;
  std::string_view Bytes(int column) const override;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Database final : public SqlDatabase {
 public:
  // Opens or creates the file for reading and writing, with permissions for its owner only. Locks
  // out other processes while it is open.
  static Result<Database> Open(const std::string& path);

  Status Execute(const std::string& sql) override;
  Result<std::unique_ptr<SqlStatement>> Make(std::string_view sql) override;
  Result<Statement> Prepare(std::string_view sql);
  Status Begin(bool durable) override;
  Status Commit() override;
  void Rollback() override;
  Result<std::int64_t> Bytes() override;
  Result<std::int64_t> LiveBytes() override;
  Result<bool> ReturnSpace(std::int64_t pages_free, std::int64_t pages_at_once) override;
  Status CopyToFile(const std::string& path) override;
  Result<std::unique_ptr<BackupSteps>> BeginCopy(const std::string& path) override;

  const std::string& path() const override { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(sqlite3* connection, std::string path);

  friend class DatabaseCopy;
  Status EndDurably();

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
  bool durable_ = false;  // The current transaction
};

// Copies all content of a database into an empty one. Between two steps the source can be used;
// content that is written to it meanwhile is copied as well. Must not outlive its databases.
class DatabaseCopy {
 public:
  static Result<DatabaseCopy> Begin(Database& from, Database& to);
  // Copies at most so many pages. True: the copy is complete and committed.
  Result<bool> Step(int pages);

 private:
  struct Finish {
    void operator()(sqlite3_backup* copy) const;
  };
  DatabaseCopy(sqlite3_backup* copy, Database& to) : copy_(copy), to_(&to) {}

  std::unique_ptr<sqlite3_backup, Finish> copy_;
  Database* to_;
};

}  // namespace fabric::store
