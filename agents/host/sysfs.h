// Files below the root: attributes of sysfs, procfs and configfs, or of a captured tree.
//
// A Dir is an open directory. Attributes are read relative to it with one openat() and one read():
// a device that disappears between two reads yields NOT_FOUND, never half of another device that
// took its name. Nothing here writes. Safe to use from several threads at once.
//
// Below "/" symbolic links mean what they mean to everybody. A captured tree is a world of its own:
// absolute links and ".." start and end at its root, whatever the names and links in it say.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"

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
  int Release() { return std::exchange(fd_, -1); }  // The caller closes it.

 private:
  int fd_;
};

// An attribute that holds one decimal number and is read again and again, kept open: sysfs prints
// it anew for every read from its beginning. Safe to read from several threads at once.
class NumberFile {
 public:
  // One pread(), no allocation; `value` is left alone on failure. NOT_FOUND or UNAVAILABLE when the
  // device is gone, UNIMPLEMENTED when the driver does not report it, DATA_LOSS when it is no
  // number.
  Code Read(std::uint64_t& value) const;

 private:
  friend class Dir;
  explicit NumberFile(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

// Who may do what with a file, and which it is.
struct FileInfo {
  std::uint32_t mode;  // With the type: S_IFMT and the permission bits
  std::uint32_t uid, gid;
  std::uint64_t inode;
  std::uint32_t device_major, device_minor;  // Of a device file
};

// Which directory it is, and since when it has the entries that it has: equal as long as nothing
// was added, taken away or replaced.
struct DirStamp {
  std::uint64_t device, inode;
  std::int64_t modified_s, modified_ns;
  friend bool operator==(const DirStamp&, const DirStamp&) = default;
};

// Names given to a Dir are relative and may hold several components ("device/driver"). Empty ones,
// absolute ones and those with a NUL byte are INVALID_ARGUMENT; so are loops of links.
class Dir {
 public:
  // `root` is "/" in production and a captured tree or a fixture in tests.
  static Result<Dir> Open(const std::string& root);

  // A directory below this one: "sys/class/net".
  Result<Dir> Sub(const std::string& name) const;

  // One attribute without trailing newline and blanks. One read of at most 4096 bytes, the
  // kernel's own limit (more is RESOURCE_EXHAUSTED); a directory, FIFO, socket or device at that
  // place is INVALID_ARGUMENT and is never blocked on. Content with NUL or other bytes that are
  // not text (printable.h) is DATA_LOSS.
  Result<std::string> Text(const std::string& name) const;

  // A whole file up to 1 MiB, for /proc/modules and the like. RESOURCE_EXHAUSTED beyond. The bytes
  // as they are: a PCI function's binary `config` is read by this too.
  Result<std::string> Whole(const std::string& name) const;

  // Text() as a number; `base` 16 takes a leading 0x. DATA_LOSS when it is none.
  template <std::integral Integer>
  Result<Integer> Number(const std::string& name, int base = 10) const {
    ASSIGN_OR_RETURN(const std::string text, Text(name));
    Result<Integer> number = ParseNumber<Integer>(Trim(text), base);
    if (!number.ok()) return Status(Code::kDataLoss, Path(name) + ": " + number.status().message());
    return number;
  }

  // To read it often. The failures of Text(), but for those of its content.
  Result<NumberFile> OpenNumber(const std::string& name) const;

  // Names below this directory, sorted, without those that begin with a dot.
  Result<std::vector<std::string>> Names() const;

  // Last component of what the symbolic link `name` points at. In a captured tree that flattened
  // links, NOT_FOUND or UNIMPLEMENTED.
  Result<std::string> LinkName(const std::string& name) const;

  // The text of the symbolic link `name`, whether or not there is anything behind it: where a
  // class or bus directory of sysfs says in which place of the device tree a device is. Failures
  // are those of LinkName().
  Result<std::string> LinkTarget(const std::string& name) const;

  // Target of the link with every link resolved, relative to the root:
  // "sys/devices/pci0000:00/...".
  Result<std::string> RealPath(const std::string& name) const;

  // Of what `name` leads to; the file itself is not opened.
  Result<FileInfo> Info(const std::string& name) const;

  // Only to tell, often and cheaply, that something has changed: links are followed as everybody
  // follows them, also out of a captured tree. Nothing when there is no such directory.
  std::optional<DirStamp> StampOf(const std::string& name) const;

  bool Has(const std::string& name) const;  // Anything of that name, a dangling link included.

  // A regular file, opened for reading so that nothing else can block or act: no FIFO waits for its
  // writer, no terminal becomes ours. For code of this folder that reads at an offset.
  Result<Fd> OpenFile(const std::string& name) const;

  const std::string& path() const { return path_; }   // For messages.
  bool captured() const { return root_.get() >= 0; }  // Not below "/".

 private:
  Dir(Fd fd, Fd root, std::string below_root, std::string path)
      : fd_(std::move(fd)),
        root_(std::move(root)),
        below_root_(std::move(below_root)),
        path_(std::move(path)) {}

  Result<Fd> OpenAt(const std::string& name, int flags) const;
  Result<Fd> OpenAt(const std::string& name, int flags, int& error) const;
  std::string Path(const std::string& name) const;

  Fd fd_;
  Fd root_;                 // The root of a captured tree; none below "/".
  std::string below_root_;  // Captured: this directory's path from root_, "" or "sys/class/"
  std::string path_;
};

}  // namespace fabric::host
