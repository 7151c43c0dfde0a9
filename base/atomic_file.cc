#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/text.h"

namespace fabric {
namespace {

constexpr mode_t kOfOthers = 077;

Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FromErrno(written == 0 ? ENOSPC : errno, path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// Writes a new file next to `path` and returns its name. O_EXCL: does not follow a link that
// another user left there.
Result<std::string> WriteNext(const std::string& path, std::string_view text, mode_t mode) {
  std::string next = path + ".new";
  (void)unlink(next.c_str());  // Left by a killed process
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return FromErrno(errno, next);
  Status status = WriteAll(fd, text, next);
  // The umask may have removed permissions.
  if (status.ok() && (fchmod(fd, mode) != 0 || fsync(fd) != 0)) status = FromErrno(errno, next);
  close(fd);
  if (status.ok()) return next;
  (void)unlink(next.c_str());
  return status;
}

}  // namespace

Status SyncDirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent;
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FromErrno(errno, directory);
  // Some file systems cannot sync a directory.
  const bool synced = fsync(fd) == 0 || errno == EINVAL;
  const int error = errno;
  close(fd);
  return synced ? Status() : FromErrno(error, directory);
}

Status WriteFileAtomically(const std::string& path, std::string_view text, mode_t mode) {
  ASSIGN_OR_RETURN(const std::string next, WriteNext(path, text, mode));
  if (std::rename(next.c_str(), path.c_str()) != 0) {
    const int error = errno;
    (void)unlink(next.c_str());
    return FromErrno(error, path);
  }
  return SyncDirectoryOf(path);
}

Status CreateFileAtomically(const std::string& path, std::string_view text, mode_t mode) {
  ASSIGN_OR_RETURN(const std::string next, WriteNext(path, text, mode));
  const int error = link(next.c_str(), path.c_str()) == 0 ? 0 : errno;
  (void)unlink(next.c_str());
  if (error != 0) return FromErrno(error, path);
  return SyncDirectoryOf(path);
}

Status MakePrivate(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return FromErrno(errno, path);
  if ((file.st_mode & kOfOthers) == 0) return {};
  if (chmod(path.c_str(), file.st_mode & ~kOfOthers & 07777) != 0) return FromErrno(errno, path);
  return {};
}

Status CheckMode(const std::string& path, mode_t forbidden, std::string_view what) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return FromErrno(errno, path);
  if ((file.st_mode & forbidden) == 0) return {};
  return Status(Code::kFailedPrecondition,
                Format("expected {}, saw mode {:04o}", what, file.st_mode & 07777))
      .At(path);
}

Status CheckPrivate(const std::string& path, std::string_view what) {
  return CheckMode(path, kNotReadable,
                   Format("{} that other users cannot read (mode 0600 or 0640)", what));
}

}  // namespace fabric
