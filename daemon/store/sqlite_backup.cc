#include "daemon/store/sqlite_backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/atomic_file.h"

namespace fabric::store {
namespace {

constexpr int kPagesOfStep = 256;  // 1 MiB

class OneStepBackup final : public BackupSteps {
 public:
  OneStepBackup(Store& store, std::string path) : store_(store), path_(std::move(path)) {}
  Result<bool> Step() override {
    RETURN_IF_ERROR(store_.Backup(path_));
    return true;
  }

 private:
  Store& store_;
  const std::string path_;
};

}  // namespace

Result<std::unique_ptr<BackupSteps>> Store::BeginBackup(const std::string& path) {
  return std::unique_ptr<BackupSteps>(std::make_unique<OneStepBackup>(*this, path));
}

Result<std::unique_ptr<BackupSteps>> SqliteBackup::Begin(Database& from, const std::string& path) {
  if (std::filesystem::exists(path))
    return Status(Code::kAlreadyExists, path + ": expected no file, saw one");
  ASSIGN_OR_RETURN(Database to, Database::Open(path));
  std::unique_ptr<SqliteBackup> backup(new SqliteBackup(std::move(to), path));
  ASSIGN_OR_RETURN(DatabaseCopy copy, DatabaseCopy::Begin(from, *backup->to_));
  backup->copy_.emplace(std::move(copy));
  return std::unique_ptr<BackupSteps>(std::move(backup));
}

SqliteBackup::~SqliteBackup() {
  if (complete_) return;
  copy_.reset();
  to_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  std::filesystem::remove(path_ + "-journal", ignored);
}

Result<bool> SqliteBackup::Step() {
  ASSIGN_OR_RETURN(const bool done, copy_->Step(kPagesOfStep));
  if (!done) return false;
  copy_.reset();
  to_.reset();
  RETURN_IF_ERROR(SyncDirectoryOf(path_));
  complete_ = true;
  return true;
}

void SqliteBackup::Flush() {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)::fdatasync(file);
  ::close(file);
}

}  // namespace fabric::store
