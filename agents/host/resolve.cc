#include "agents/host/resolve.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace fabric::host {
namespace {

constexpr int kLinksMax = 40;  // MAXSYMLINKS of the kernel
constexpr int kTriesMax = 8;
constexpr std::size_t kPathMax = 1 << 16;  // Links that grow the path without end stop here.

// EAGAIN says that a rename or mount anywhere on the machine coincided with a "..": try again.
int OpenAt2(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  long fd = -1;
  for (int i = 0; i < kTriesMax; ++i) {
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

}  // namespace

Status FileError(int error, std::string_view what) {
  Status status = FromErrno(error, what);
  if (error == ELOOP || error == ENAMETOOLONG) return {Code::kInvalidArgument, status.message()};
  return status;
}

Result<std::string> ResolveInRoot(int root, std::string_view path, bool follow_last,
                                  std::string_view what) {
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
    if (todo.empty() && !follow_last) break;
    const std::string so_far = Join(done, "/");
    if (so_far.size() > kPathMax) return FileError(ENAMETOOLONG, what);
    std::array<char, 4096> target;
    const ssize_t size = ::readlinkat(root, so_far.c_str(), target.data(), target.size());
    if (size < 0) {
      if (errno == EINVAL || errno == ENOENT) continue;  // No link; or nothing, which open() says.
      return FileError(errno, what);
    }
    if (++links > kLinksMax) return FileError(ELOOP, what);
    const std::string_view link(target.data(), static_cast<std::size_t>(size));
    done.pop_back();
    if (link.starts_with('/')) done.clear();
    Push(link, todo);
  }
  return done.empty() ? std::string(".") : Join(done, "/");
}

Result<Fd> OpenInRoot(int root, const std::string& path, int flags, std::string_view what) {
  Fd fd(OpenAt2(root, path, flags));
  if (fd.get() < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)) {
    ASSIGN_OR_RETURN(const std::string resolved,
                     ResolveInRoot(root, path, (flags & O_NOFOLLOW) == 0, what));
    fd = Fd(::openat(root, resolved.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  if (fd.get() < 0) return FileError(errno, what);
  return fd;
}

}  // namespace fabric::host
