// A file that is replaced while fabricd runs.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/clock.h"

namespace fabric {

// What changes when a file is replaced.
struct FileState {
  bool there = false;
  ino_t inode = 0;
  off_t bytes = 0;
  WallTime modified_at{};

  friend bool operator==(const FileState&, const FileState&) = default;
};
FileState StateOf(const std::string& path);

// Finds out that a file has changed and is then unchanged between two checks, so that it is not
// read while it is written.
class WatchedFile {
 public:
  // Empty path: no file.
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  WallTime modified_at() const { return read_.modified_at; }  // When it was last to be read

  // The file is read now. Call at start-up.
  void Note() { read_ = looked_ = StateOf(path_); }
  // Call regularly. True once for each change: read the file now.
  bool Changed();

 private:
  std::string path_;
  FileState read_, looked_;
};

}  // namespace fabric
