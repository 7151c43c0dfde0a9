// The part of the registry that copies its file.
#include "daemon/join/registry.h"
#include "daemon/store/sqlite_backup.h"

namespace fabric::join {

Status Registry::BackUp(const std::string& path) {
  return store::BackUpInSteps(path, [this](const auto& step) {
    const MutexLock lock(mutex_);
    step(database_);
  });
}

}  // namespace fabric::join
