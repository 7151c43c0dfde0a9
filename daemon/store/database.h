// A thin layer over the SQLite library: one connection, prepared statements, failures as Status
// with the path. Only daemon/store uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct sqlite3;
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

  // True when there is a row. After false or a failure the statement may be bound and run again.
  Result<bool> Step();
  // For statements without rows: runs it once.
  Status Run();
  // Ends a query early.
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
  // Opens for reading and writing, creates the file when there is none. Other processes are kept
  // out for as long as it is open.
  static Result<Database> Open(const std::string& path);

  // One or more statements without parameters and without rows of interest.
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

  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
};

}  // namespace fabric::store
