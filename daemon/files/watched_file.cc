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

Status CheckMode(const std::string& path, mode_t forbidden, std::string_view what) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return FromErrno(errno, path);
  if ((file.st_mode & forbidden) == 0) return {};
  return Status(Code::kFailedPrecondition,
                Format("expected {}, saw mode {:04o}", what, file.st_mode & 07777))
      .At(path);
}

}  // namespace fabric
