#include "daemon/files/watched_file.h"

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/text.h"

namespace fabric {

FileState StateOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {.there = true,
          .inode = status.st_ino,
          .bytes = status.st_size,
          .modified_at = WallTime(std::chrono::seconds(status.st_mtim.tv_sec) +
                                  std::chrono::nanoseconds(status.st_mtim.tv_nsec))};
}

bool WatchedFile::Changed() {
  if (path_.empty()) return false;
  const FileState now = StateOf(path_);
  const FileState before = std::exchange(looked_, now);
  if (now == read_ || now != before) return false;
  read_ = now;
  return true;
}

}  // namespace fabric
