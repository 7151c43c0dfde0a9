#include "daemon/store/sql.h"

#include "base/text.h"
#include "daemon/store/store.h"

namespace fabric::store {

Status SqlStatement::Run() {
  ASSIGN_OR_RETURN(const bool row, Step());
  if (row) Reset();
  return {};
}

Result<std::int64_t> SqlDatabase::Number(std::string_view sql) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqlStatement> statement, Make(sql));
  ASSIGN_OR_RETURN(const bool row, statement->Step());
  if (!row) return Status(Code::kInternal, Format("{}: no answer to {}", path(), sql));
  const std::int64_t number = statement->Number(0);
  statement->Reset();
  return number;
}

Result<std::unique_ptr<BackupSteps>> SqlDatabase::BeginCopy(const std::string&) {
  return std::unique_ptr<BackupSteps>();
}

}  // namespace fabric::store
