// Files below the root: attributes of sysfs, procfs and configfs, or of a captured tree.
//
// A Dir is an open directory. Attributes are read relative to it with one openat() and one read():
// a device that disappears between two reads yields NOT_FOUND, never half of another device that
// took its name. Nothing here writes. Safe to use from several threads at once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fabric::host {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }

 private:
  int fd_;
};

class Dir {
 public:
  // `root` is "/" in production and a captured tree or a fixture in tests.
  static Result<Dir> Open(const std::string& root);

  // A directory below this one; `name` may hold several components ("sys/class/net").
  Result<Dir> Sub(const std::string& name) const;

  // One attribute without trailing newline and blanks. One read of at most 4096 bytes, the
  // kernel's own limit; a directory, FIFO, socket or device at that place is INVALID_ARGUMENT and
  // is never blocked on. Content with NUL or other bytes that are not text is DATA_LOSS.
  Result<std::string> Text(const std::string& name) const;

  // A whole file up to 1 MiB, for /proc/modules and the like. RESOURCE_EXHAUSTED beyond.
  Result<std::string> Whole(const std::string& name) const;

  // Text() as a number; `base` 16 takes a leading 0x. DATA_LOSS when it is none.
  template <class Integer>
  Result<Integer> Number(const std::string& name, int base = 10) const;

  // Names below this directory, sorted, without those that begin with a dot.
  Result<std::vector<std::string>> Names() const;

  // Last component of what the symbolic link `name` points at. In a captured tree that flattened
  // links, NOT_FOUND or UNIMPLEMENTED.
  Result<std::string> LinkName(const std::string& name) const;

  // Target of the link with every link resolved, relative to the root: "sys/devices/pci0000:00/...".
  Result<std::string> RealPath(const std::string& name) const;

  bool Has(const std::string& name) const;  // Anything of that name, a dangling link included.

  const std::string& path() const { return path_; }  // For messages.

 private:
  Dir(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
};

}  // namespace fabric::host
