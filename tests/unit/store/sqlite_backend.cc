#include "daemon/store/schema.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {

void ClearBackend(const std::string&) {}  // Each test has a directory of its own.

Result<std::unique_ptr<Store>> OpenBackend(const std::string& path) {
  return OpenSqlite(path);
}

Result<std::unique_ptr<SqlDatabase>> OpenTables(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, OpenDatabase(path));
  return std::unique_ptr<SqlDatabase>(std::make_unique<Database>(std::move(database)));
}

}  // namespace fabric::store
