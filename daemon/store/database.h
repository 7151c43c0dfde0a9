// Wrapper of the SQLite library: one connection, prepared statements, failures as Status with the
// path. Used by daemon/store only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct sqlite3;
struct sqlite3_backup;
struct sqlite3_stmt;

namespace fabric::store {

// One prepared statement. Parameters and columns are numbered from 0. Must not outlive its
// database.
class Statement {
 public:
  Statement(sqlite3_stmt* statement, const std::string& path);

  Statement& Bind(int parameter, std::int64_t value);
  Statement& Text(int parameter, std::string_view value);
  Statement& Blob(int parameter, std::string_view value);
  Statement& Copy(int parameter, const Statement& row, int column);  // With its type

  // True if there is a row. After false or a failure the statement can be bound and run again.
  Result<bool> Step();
  // Runs a statement without rows.
  Status Run();
  // Ends a query before its last row.
  void Reset();

  std::int64_t Number(int column) const;
  std::string_view Bytes(int column) const;  // Valid until the next Step or Reset.

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

class Database {
 public:
  // Opens or creates the file for reading and writing, with permissions for its owner only. Locks
  // out other processes while it is open.
  static Result<Database> Open(const std::string& path);

  // Runs one or more statements without parameters; ignores rows.
  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql);
  // The first column of the only row.
  Result<std::int64_t> Number(std::string_view sql);

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(sqlite3* connection, std::string path);

  friend class DatabaseCopy;

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
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
