// Files below the root: attributes of sysfs, procfs and configfs, or of a captured tree.
//
// A Dir is an open directory. Attributes are read relative to it with one openat() and one read():
// a device that disappears between two reads yields NOT_FOUND, never half of another device that
// took its name. Nothing here writes. Safe to use from several threads at once.
//
// Below "/", symbolic links behave as usual. In a captured tree, absolute links and ".." resolve
// within its root, and missing links of class and bus directories are reconstructed (lost_links.h).
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

// Open attribute with one decimal number, for repeated reading: sysfs generates the content on
// every read at offset 0. Thread-safe.
class NumberFile {
 public:
  // One pread(), no allocation; keeps `value` on failure. NOT_FOUND or UNAVAILABLE when the device
  // is gone, UNIMPLEMENTED when the driver does not report it, DATA_LOSS when it is not a number.
  Code Read(std::uint64_t& value) const;

 private:
  friend class Dir;
  explicit NumberFile(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

// Permissions and identity of a file.
struct FileInfo {
  std::uint32_t mode;  // With the type: S_IFMT and the permission bits
  std::uint32_t uid, gid;
  std::uint64_t inode;
  std::uint32_t device_major, device_minor;  // For a device file
};

// The end of a file.
struct FileEnd {
  std::string text;
  std::uint64_t left_out_bytes = 0;  // In front of `text`
};

// Identity and modification time of a directory: equal until an entry is added, removed or
// replaced.
struct DirStamp {
  std::uint64_t device, inode;
  std::int64_t modified_s, modified_ns;
  friend bool operator==(const DirStamp&, const DirStamp&) = default;
};

// Names are relative and may have several components ("device/driver"). INVALID_ARGUMENT for an
// empty name, an absolute name, a NUL byte, and a loop of links. Errors are Status::At() the full
// path.
class Dir {
 public:
  // `root` is "/" in production and a captured tree or a fixture in tests.
  static Result<Dir> Open(const std::string& root);

  // A directory below this one: "sys/class/net".
  Result<Dir> Sub(const std::string& name) const;

  // One attribute without trailing newline and blanks. One read of at most 4096 bytes, the
  // kernel's own limit (more is RESOURCE_EXHAUSTED). INVALID_ARGUMENT, without blocking, for a
  // directory, FIFO, socket or device. Content with NUL or other bytes that are
  // not text (printable.h) is DATA_LOSS.
  Result<std::string> Text(const std::string& name) const;

  // A whole file of up to 16 MiB, for /proc and binary files. RESOURCE_EXHAUSTED beyond.
  Result<std::string> Whole(const std::string& name) const;

  // The first bytes of a file, with one read: at most 4096 bytes. For files of /proc that are long
  // and costly as a whole.
  Result<std::string> Start(const std::string& name) const;

  // The last `bytes_max` bytes of a log, without the first line if that was cut. For files with a
  // size: not for /proc.
  Result<FileEnd> End(const std::string& name, std::size_t bytes_max) const;

  // Text() as a number; with `base` 16 also after 0x. DATA_LOSS for other text.
  template <std::integral Integer>
  Result<Integer> Number(const std::string& name, int base = 10) const {
    ASSIGN_OR_RETURN(const std::string text, Text(name));
    Result<Integer> number = ParseNumber<Integer>(Trim(text), base);
    if (!number.ok()) return Status(Code::kDataLoss, number.status().message()).At(Path(name));
    return number;
  }

  // For repeated reading. Errors of Text() except those about the content.
  Result<NumberFile> OpenNumber(const std::string& name) const;

  // Names below this directory, sorted, without those that begin with a dot.
  Result<std::vector<std::string>> Names() const;

  // Last component of the target of the symbolic link `name`. NOT_FOUND or UNIMPLEMENTED in a
  // captured tree without links.
  Result<std::string> LinkName(const std::string& name) const;

  // Text of the symbolic link `name`, which may be dangling: for a class or bus entry, the place of
  // the device in the device tree. Errors of LinkName().
  Result<std::string> LinkTarget(const std::string& name) const;

  // Target of the link with every link resolved, relative to the root:
  // "sys/devices/pci0000:00/...".
  Result<std::string> RealPath(const std::string& name) const;

  // Follows links; does not open the file.
  Result<FileInfo> Info(const std::string& name) const;

  // Cheap change detection. Empty when `name` is not a directory.
  std::optional<DirStamp> StampOf(const std::string& name) const;

  bool Has(const std::string& name) const;  // True also for a dangling link.

  // Opens a regular file for reading, without blocking on other kinds of files. For code of this
  // folder that reads at an offset.
  Result<Fd> OpenFile(const std::string& name) const;

  const std::string& path() const { return path_; }   // For messages
  bool captured() const { return root_.get() >= 0; }  // Root is not "/".

 private:
  Dir(Fd fd, Fd root, std::string below_root, std::string path)
      : fd_(std::move(fd)),
        root_(std::move(root)),
        below_root_(std::move(below_root)),
        path_(std::move(path)) {}

  Result<Fd> OpenAt(const std::string& name, int flags) const;
  Result<Dir> SubOfCapture(const std::string& name) const;
  Result<Fd> OpenAt(const std::string& name, int flags, int& error) const;
  std::string Path(const std::string& name) const;

  Fd fd_;
  Fd root_;                 // The root of a captured tree; none below "/".
  std::string below_root_;  // Captured: this directory's path from root_, "" or "sys/class/"
  std::string path_;
};

}  // namespace fabric::host
