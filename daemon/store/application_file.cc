#include "daemon/store/application_file.h"

#include "base/text.h"

namespace fabric::store {

Result<Database> OpenApplicationFile(const std::string& path, const ApplicationFile& expected) {
  ASSIGN_OR_RETURN(Database database, Database::Open(path));
  RETURN_IF_ERROR(database.Execute("PRAGMA locking_mode = EXCLUSIVE;"));
  ASSIGN_OR_RETURN(const std::int64_t application, database.Number("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const std::int64_t version, database.Number("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const std::int64_t tables,
                   database.Number("SELECT count(*) FROM sqlite_schema"));
  const bool fresh = tables == 0 && application == 0 && version == 0;
  if (!fresh && application != expected.application)
    return Status(Code::kFailedPrecondition,
                  Format("{}: not {} of fabricd: expected application id {:#x}, saw {:#x}", path,
                         expected.what, expected.application, application));
  if (!fresh && version != expected.version)
    return Status(Code::kFailedPrecondition, Format("{}: expected version {} of {}, saw {}", path,
                                                    expected.version, expected.what, version));
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  if (fresh)
    RETURN_IF_ERROR(database.Execute(
        Format("BEGIN IMMEDIATE;{}PRAGMA application_id = {};PRAGMA user_version = {};COMMIT;",
               expected.tables, expected.application, expected.version)));
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE; COMMIT;"));  // Takes the lock
  return database;
}

}  // namespace fabric::store
