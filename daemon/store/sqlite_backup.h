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

// A backup of a database that other threads use: `with_database` calls its argument with it, under
// its lock, for each step. A part of a backup that fails is removed.
template <class WithDatabase>
Status BackUpInSteps(const std::string& path, WithDatabase with_database) {
  std::unique_ptr<BackupSteps> steps;
  for (Result<bool> done(false); true; steps->Flush()) {
    with_database([&](Database& database) {
      if (steps == nullptr) {
        auto begun = SqliteBackup::Begin(database, path);
        if (begun.ok())
          steps = *std::move(begun);
        else
          done = begun.status();
      }
      if (steps != nullptr) done = steps->Step();
      if (!done.ok() || *done) steps.reset();
    });
    if (steps == nullptr) return done.status();
  }
}

}  // namespace fabric::store
