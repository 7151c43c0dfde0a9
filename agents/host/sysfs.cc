#include "agents/host/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "agents/host/call_watch.h"
#include "agents/host/lost_links.h"
#include "agents/host/printable.h"
#include "agents/host/resolve.h"

namespace fabric::host {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::size_t kWholeBytesMax = std::size_t{16} << 20;
constexpr std::size_t kNumberBytesMax = 64;  // A number with its newline takes 21.

Status CheckName(const std::string& name, const std::string& path) {
  if (!name.empty() && name[0] != '/' && name.find('\0') == std::string::npos) return {};
  return Status(Code::kInvalidArgument,
                Format("expected a relative name below it, saw {}", Quoted(name)))
      .At(path);
}

// read() that retries after a signal; -1 with errno set otherwise.
ssize_t ReadSome(int fd, char* to, std::size_t size) {
  ssize_t got = 0;
  do {
    got = ::read(fd, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Path of an open descriptor. Needs /proc.
Result<std::string> PathOf(int fd, const std::string& what) {
  std::array<char, 4096> target;
  const std::string link = Format("/proc/self/fd/{}", fd);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size < 0) return FileError(errno, link).In(what);
  std::string path(target.data(), static_cast<std::size_t>(size));
  if (path.ends_with(" (deleted)")) return FileError(ENOENT, what);
  return path;
}

bool IsBlank(char c) {
  return c == ' ' || c == '\n' || c == '\t';
}

bool IsRegular(int fd) {
  struct stat what {};
  return ::fstat(fd, &what) == 0 && S_ISREG(what.st_mode);
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Code NumberFile::Read(std::uint64_t& value) const {
  std::array<char, kNumberBytesMax> buffer;
  ssize_t size = 0;
  do {
    size = ::pread(fd_.get(), buffer.data(), buffer.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return FromErrno(errno, "").code();
  std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return Code::kDataLoss;
  value = number;
  return Code::kOk;
}

Result<Dir> Dir::Open(const std::string& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FromErrno(errno, Format("opening root directory {}", Quoted(root)));
  struct stat here {};
  struct stat slash {};
  if (::fstat(fd.get(), &here) != 0 || ::stat("/", &slash) != 0) return FileError(errno, root);
  if (SameFile(here, slash)) return Dir(std::move(fd), Fd(), "", "/");

  std::string path = root;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  Fd root_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (root_fd.get() < 0) return FileError(errno, path);
  return Dir(std::move(fd), std::move(root_fd), "", path);
}

std::string Dir::Path(const std::string& name) const {
  return path_ == "/" ? path_ + name : path_ + "/" + name;
}

Result<Fd> Dir::OpenAt(const std::string& name, int flags) const {
  int error = 0;
  return OpenAt(name, flags, error);
}

Result<Fd> Dir::OpenAt(const std::string& name, int flags, int& error) const {
  RETURN_IF_ERROR(CheckName(name, path_));
  if (!captured()) {
    Fd fd(::openat(fd_.get(), name.c_str(), flags | O_CLOEXEC));
    error = fd.get() < 0 ? errno : 0;
    if (error != 0) return FileError(error, Path(name));
    return fd;
  }
  if (!below_root_.empty() && !MayHaveLostEntries(below_root_)) {
    Fd fd = OpenBeneath(fd_.get(), name, flags, error);
    if (error == 0) return fd;
    if (error == ENOENT) return FileError(error, Path(name));
  }
  Result<Fd> fd = OpenInRoot(root_.get(), below_root_ + name, flags, Path(name), error);
  if (error != ENOENT) return fd;
  const std::string place = FindLostEntry(root_.get(), below_root_, name);
  return place.empty() ? std::move(fd) : OpenInRoot(root_.get(), place, flags, Path(name), error);
}

Result<Fd> Dir::OpenFile(const std::string& name) const {
  int error = 0;
  Result<Fd> fd = OpenAt(name, O_RDONLY | O_NONBLOCK | O_NOCTTY, error);
  // ENXIO, ENODEV: a socket, or a device without driver.
  if (fd.ok() ? IsRegular(fd->get()) : error != ENXIO && error != ENODEV) return fd;
  return Status(Code::kInvalidArgument, "expected a regular file").At(Path(name));
}

Result<Dir> Dir::Sub(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  if (captured()) return SubOfCapture(name);
  ASSIGN_OR_RETURN(Fd fd, OpenAt(name, O_PATH | O_DIRECTORY));
  return Dir(std::move(fd), Fd(), "", Path(name));
}

// The entries of a missing class directory may exist at their real place in the tree, which is then
// used for everything below them.
Result<Dir> Dir::SubOfCapture(const std::string& name) const {
  RETURN_IF_ERROR(CheckName(name, path_));
  std::string below = below_root_ + name;
  int error = 0;
  Result<Fd> fd = OpenInRoot(root_.get(), below, O_PATH | O_DIRECTORY, Path(name), error);
  if (error == ENOENT) {
    if (std::string place = FindLostEntry(root_.get(), below_root_, name); !place.empty()) {
      below = std::move(place);
      fd = OpenInRoot(root_.get(), below, O_PATH | O_DIRECTORY, Path(name), error);
    } else if (!LostEntries(root_.get(), below).empty()) {
      fd = Fd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    }
  }
  if (!fd.ok()) return fd.status();
  Fd root(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (root.get() < 0) return FileError(errno, Path(name));
  return Dir(*std::move(fd), std::move(root), below + "/", Path(name));
}

Result<std::string> Dir::Text(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd fd, OpenFile(name));
  std::array<char, kTextBytesMax + 1> buffer;
  const ssize_t size = ReadSome(fd.get(), buffer.data(), buffer.size());
  if (size < 0) return FileError(errno, Path(name));
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  if (bytes.size() > kTextBytesMax)
    return Status(Code::kResourceExhausted, Format("expected at most {} bytes", kTextBytesMax))
        .At(Path(name));
  Result<std::string> text = ParseAttribute(bytes);
  if (!text.ok()) return text.status().At(Path(name));
  return text;
}

Result<std::string> Dir::Whole(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd fd, OpenFile(name));
  std::string content;
  std::size_t used = 0;
  for (std::size_t room = kTextBytesMax;; room *= 2) {
    // One byte over the limit, to distinguish a file of exactly the limit from a longer one.
    content.resize(std::min(used + room, kWholeBytesMax + 1));
    while (used < content.size()) {
      const ssize_t size = ReadSome(fd.get(), content.data() + used, content.size() - used);
      if (size < 0) return FileError(errno, Path(name));
      used += static_cast<std::size_t>(size);
      if (size > 0) continue;
      content.resize(used);
      return content;
    }
    if (used > kWholeBytesMax)
      return Status(Code::kResourceExhausted, Format("expected at most {} bytes", kWholeBytesMax))
          .At(Path(name));
  }
}

Result<std::string> Dir::Start(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd fd, OpenFile(name));
  std::string bytes(kTextBytesMax, '\0');
  const ssize_t size = ReadSome(fd.get(), bytes.data(), bytes.size());
  if (size < 0) return FileError(errno, Path(name));
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

Result<FileEnd> Dir::End(const std::string& name, std::size_t bytes_max) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd fd, OpenFile(name));
  struct stat what {};
  if (::fstat(fd.get(), &what) != 0) return FileError(errno, Path(name));
  const auto size = static_cast<std::uint64_t>(what.st_size);
  FileEnd end;
  if (size > bytes_max) end.left_out_bytes = size - bytes_max;
  end.text.resize(static_cast<std::size_t>(size - end.left_out_bytes));
  std::size_t used = 0;
  while (used < end.text.size()) {
    const ssize_t got = ::pread(fd.get(), end.text.data() + used, end.text.size() - used,
                                static_cast<off_t>(end.left_out_bytes + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, Path(name));
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  end.text.resize(used);
  if (end.left_out_bytes == 0) return end;
  const std::size_t cut = std::min(end.text.find('\n'), used - 1) + 1;
  end.text.erase(0, cut);
  end.left_out_bytes += cut;
  return end;
}

Result<NumberFile> Dir::OpenNumber(const std::string& name) const {
  ASSIGN_OR_RETURN(Fd fd, OpenFile(name));
  return NumberFile(std::move(fd));
}

Result<std::vector<std::string>> Dir::Names() const {
  const WatchedCall call([&] { return path_ + "/"; });
  RETURN_IF_ERROR(call.status());
  // A new descriptor: threads that share one would share its position in the listing.
  // below_root_ ends in a slash, so that "." stays within a captured tree.
  Result<Fd> fd = OpenAt(".", O_RDONLY | O_DIRECTORY);
  std::vector<std::string> names;
  if (!fd.ok()) {
    if (captured() && fd.status().code() == Code::kNotFound)
      names = LostEntries(root_.get(), below_root_);
    if (!names.empty()) return names;
    // The path of the directory, not of the "." below it.
    return Status(fd.status().code(), std::string(fd.status().reason())).At(path_);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd->get()), ::closedir);
  if (listing == nullptr) return FileError(errno, path_);
  fd->Release();  // closedir() closes it.
  bool links = false;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(listing.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    links = links || entry->d_type == DT_LNK;
  }
  if (errno != 0) return FileError(errno, path_);
  // A class that still has links has all of them.
  if (captured() && !links)
    for (std::string& name : LostEntries(root_.get(), below_root_))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::string> Dir::LinkTarget(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd link, OpenAt(name, O_PATH | O_NOFOLLOW));
  std::array<char, 4096> target;
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0 && (errno == ENOENT || errno == EINVAL))  // ENOENT: what an empty name reports.
    return Status(Code::kUnimplemented, "expected a symbolic link").At(Path(name));
  if (size < 0) return FileError(errno, Path(name));
  return std::string(target.data(), static_cast<std::size_t>(size));
}

Result<std::string> Dir::LinkName(const std::string& name) const {
  ASSIGN_OR_RETURN(const std::string target, LinkTarget(name));
  std::string_view text = target;
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  text = text.substr(text.find_last_of('/') + 1);
  if (text.empty() || !IsText(text))
    return Status(Code::kDataLoss, "the target's name is not text").At(Path(name));
  return std::string(text);
}

Result<std::string> Dir::RealPath(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  RETURN_IF_ERROR(call.status());
  ASSIGN_OR_RETURN(const Fd target, OpenAt(name, O_PATH));
  ASSIGN_OR_RETURN(const std::string path, PathOf(target.get(), Path(name)));
  std::string root;
  if (captured()) {
    ASSIGN_OR_RETURN(root, PathOf(root_.get(), path_));
  }
  if (path == root || path == "/") return std::string(".");
  if (!path.starts_with(root + "/"))
    return Status(Code::kInvalidArgument, "expected a path below the root").At(Path(name));
  return path.substr(root.size() + 1);
}

Result<FileInfo> Dir::Info(const std::string& name) const {
  ASSIGN_OR_RETURN(const Fd file, OpenAt(name, O_PATH));
  struct stat what {};
  if (::fstat(file.get(), &what) != 0) return FileError(errno, Path(name));
  return FileInfo{.mode = what.st_mode,
                  .uid = what.st_uid,
                  .gid = what.st_gid,
                  .inode = what.st_ino,
                  .device_major = major(what.st_rdev),
                  .device_minor = minor(what.st_rdev)};
}

std::optional<DirStamp> Dir::StampOf(const std::string& name) const {
  struct stat what {};
  if (captured()) {
    const Result<Fd> dir = OpenAt(name, O_PATH | O_DIRECTORY);
    if (!dir.ok() || ::fstat(dir->get(), &what) != 0) return std::nullopt;
  } else if (!CheckName(name, path_).ok() || ::fstatat(fd_.get(), name.c_str(), &what, 0) != 0 ||
             !S_ISDIR(what.st_mode)) {
    return std::nullopt;
  }
  return DirStamp{.device = what.st_dev,
                  .inode = what.st_ino,
                  .modified_s = what.st_mtim.tv_sec,
                  .modified_ns = what.st_mtim.tv_nsec};
}

bool Dir::Has(const std::string& name) const {
  const WatchedCall call([&] { return Path(name); });
  return call.status().ok() && OpenAt(name, O_PATH | O_NOFOLLOW).ok();
}

}  // namespace fabric::host
