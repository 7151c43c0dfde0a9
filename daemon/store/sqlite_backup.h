// Backup of an open state file in steps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace fabric::store {

class SqliteBackup final : public BackupSteps {
 public:
  // ALREADY_EXISTS if there is a file.
  static Result<std::unique_ptr<BackupSteps>> Begin(Database& from, const std::string& path);
  ~SqliteBackup() override;

  Result<bool> Step() override;
  void Flush() override;

 private:
  SqliteBackup(Database to, std::string path) : to_(std::move(to)), path_(std::move(path)) {}

  std::optional<Database> to_;
  std::optional<DatabaseCopy> copy_;  // After the database: finished before it is closed
  const std::string path_;
  bool complete_ = false;
};

}  // namespace fabric::store
