#include "agents/host/resolve.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace fabric::host {
namespace {

constexpr int kSymlinksMax = 40;  // MAXSYMLINKS of the kernel
constexpr int kRenameTriesMax = 8;
constexpr std::size_t kPathMax = 1 << 16;  // Links that grow the path without end stop here.

// EAGAIN says that a rename or mount anywhere on the machine coincided with a "..": try again.
int OpenAt2(int root, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = resolve;
  long fd = -1;
  for (int i = 0; i < kRenameTriesMax; ++i) {
    fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return static_cast<int>(fd);
}

// Puts the components of `path` on the stack, the first one on top.
void Push(std::string_view path, std::vector<std::string>& stack) {
  const std::vector<std::string_view> parts = Split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (!part->empty() && *part != ".") stack.emplace_back(*part);
}

// A captured tree may have been copied to where there are no links: a regular file that contains
// the text of one, "../../devices/x", is used as the link where a directory is needed.
std::string TextOfLink(int fd) {
  std::array<char, 1024> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  const std::string_view text =
      Trim({buffer.data(), size < 0 ? std::size_t{0} : static_cast<std::size_t>(size)});
  const bool link = text.starts_with("../") && text.size() < buffer.size() &&
                    text.find_first_of(" \n\t") == std::string_view::npos;
  return link ? std::string(text) : std::string();
}

// Opens `path`, which has neither links nor "..", one component after the other: a component that
// has become a link in the meantime is an error, and not a way out of the tree.
int OpenChecked(int root, std::string_view path, int flags) {
  Fd at;
  const std::vector<std::string_view> parts = Split(path, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const int from = i == 0 ? root : at.get();
    Fd next(::openat(from, std::string(parts[i]).c_str(),
                     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.get() < 0) return -1;
    at = std::move(next);
  }
  return ::openat(parts.size() == 1 ? root : at.get(), std::string(parts.back()).c_str(),
                  flags | O_NOFOLLOW | O_CLOEXEC);
}

// The target of a component that was found not to have links above it. 0, or an errno.
int ReadLink(int root, const std::string& path, bool text_links, std::string& target) {
  target.clear();
  const Fd link(OpenChecked(root, path, O_PATH));
  if (link.get() < 0) return errno == ENOENT ? 0 : errno;  // What is missing, open() reports.
  struct stat what {};
  if (::fstat(link.get(), &what) != 0) return errno;
  if (S_ISLNK(what.st_mode)) {
    std::array<char, 4096> buffer;
    const ssize_t size = ::readlinkat(link.get(), "", buffer.data(), buffer.size());
    if (size < 0) return errno;
    target.assign(buffer.data(), static_cast<std::size_t>(size));
  } else if (text_links && S_ISREG(what.st_mode)) {
    target = TextOfLink(Fd(OpenChecked(root, path, O_RDONLY | O_NONBLOCK)).get());
  }
  return 0;
}

struct Resolving {
  bool follow_last = true;
  bool text_links = false;      // In front of the last component
  bool text_link_last = false;  // And the last one
};

// 0, or an errno.
int Resolve(int root, std::string_view path, const Resolving& how, std::string& resolved) {
  std::vector<std::string> todo;
  Push(path, todo);
  std::vector<std::string> done;
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const bool last = todo.empty();
    if (last && !how.follow_last) break;
    resolved = Join(done, "/");
    if (resolved.size() > kPathMax) return ENAMETOOLONG;
    std::string target;
    const bool text_links = last ? how.text_link_last : how.text_links;
    if (const int error = ReadLink(root, resolved, text_links, target); error != 0) return error;
    if (target.empty()) continue;
    if (++links > kSymlinksMax) return ELOOP;
    done.pop_back();
    if (target.starts_with('/')) done.clear();
    Push(target, todo);
  }
  resolved = done.empty() ? std::string(".") : Join(done, "/");
  return 0;
}

// As openat2() with RESOLVE_IN_ROOT.
int OpenResolved(int root, const std::string& path, int flags, Resolving how) {
  std::string resolved;
  how.follow_last = (flags & O_NOFOLLOW) == 0;
  const int error = Resolve(root, path, how, resolved);
  if (error == 0) return OpenChecked(root, resolved, flags);
  errno = error;
  return -1;
}

}  // namespace

Status FileError(int error, const std::string& path) {
  const bool bad_path = error == ELOOP || error == ENAMETOOLONG;
  const Code code = bad_path ? Code::kInvalidArgument : FromErrno(error, "").code();
  return Status(code, std::strerror(error)).At(path);  // NOLINT(concurrency-mt-unsafe)
}

Result<std::string> ResolveInRoot(int root, std::string_view path, bool follow_last,
                                  std::string_view what) {
  std::string resolved;
  const int error = Resolve(root, path, {.follow_last = follow_last}, resolved);
  if (error != 0) return FileError(error, std::string(what));
  return resolved;
}

Result<Fd> OpenInRoot(int root, const std::string& path, int flags, std::string_view what,
                      int& error) {
  Fd fd(OpenAt2(root, path, flags, RESOLVE_IN_ROOT));
  if (fd.get() < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
    fd = Fd(OpenResolved(root, path, flags, {}));
  if (fd.get() < 0 && errno == ENOTDIR)
    fd = Fd(OpenResolved(root, path, flags,
                         {.text_links = true, .text_link_last = (flags & O_DIRECTORY) != 0}));
  error = fd.get() < 0 ? errno : 0;
  if (error != 0) return FileError(error, std::string(what));
  return fd;
}

Fd OpenBeneath(int dir, const std::string& path, int flags, int& error) {
  Fd fd(OpenAt2(dir, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS));
  error = fd.get() < 0 ? errno : 0;
  return fd;
}

}  // namespace fabric::host
