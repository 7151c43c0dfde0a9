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

constexpr int kLinksMax = 40;  // MAXSYMLINKS of the kernel
constexpr int kTriesMax = 8;
constexpr std::size_t kPathMax = 1 << 16;  // Links that grow the path without end stop here.

// EAGAIN says that a rename or mount anywhere on the machine coincided with a "..": try again.
int OpenAt2(int root, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = resolve;
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

// A captured tree may have been copied to where there are no links: a regular file that holds the
// text of one, "../../devices/x", stands for it where a directory is asked for.
std::string TextLink(int root, const std::string& path) {
  const Fd fd(::openat(root, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat what {};
  if (fd.get() < 0 || ::fstat(fd.get(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  std::array<char, 1024> buffer;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  const std::string_view text =
      Trim({buffer.data(), size < 0 ? std::size_t{0} : static_cast<std::size_t>(size)});
  const bool link = text.starts_with("../") && text.size() < buffer.size() &&
                    text.find_first_of(" \n\t") == std::string_view::npos;
  return link ? std::string(text) : std::string();
}

// `path` with the text links in front of its last component followed, and that one too if
// `directory`.
std::string ResolveTextLinks(int root, std::string_view path, bool directory) {
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
    if (todo.empty() && !directory) break;
    const std::string link = TextLink(root, Join(done, "/"));
    if (link.empty()) continue;
    if (++links > kLinksMax) break;
    done.pop_back();
    Push(link, todo);
  }
  return done.empty() ? std::string(".") : Join(done, "/");
}

}  // namespace

Status FileError(int error, const std::string& path) {
  const bool bad_path = error == ELOOP || error == ENAMETOOLONG;
  const Code code = bad_path ? Code::kInvalidArgument : FromErrno(error, "").code();
  return Status(code, std::strerror(error)).At(path);  // NOLINT(concurrency-mt-unsafe)
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
    if (so_far.size() > kPathMax) return FileError(ENAMETOOLONG, std::string(what));
    std::array<char, 4096> target;
    const ssize_t size = ::readlinkat(root, so_far.c_str(), target.data(), target.size());
    if (size < 0) {
      if (errno == EINVAL || errno == ENOENT) continue;  // No link; or nothing, which open() says.
      return FileError(errno, std::string(what));
    }
    if (++links > kLinksMax) return FileError(ELOOP, std::string(what));
    const std::string_view link(target.data(), static_cast<std::size_t>(size));
    done.pop_back();
    if (link.starts_with('/')) done.clear();
    Push(link, todo);
  }
  return done.empty() ? std::string(".") : Join(done, "/");
}

namespace {

Result<Fd> OpenOnce(int root, const std::string& path, int flags, std::string_view what,
                    int& error) {
  Fd fd(OpenAt2(root, path, flags, RESOLVE_IN_ROOT));
  if (fd.get() < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)) {
    ASSIGN_OR_RETURN(const std::string resolved,
                     ResolveInRoot(root, path, (flags & O_NOFOLLOW) == 0, what));
    fd = Fd(::openat(root, resolved.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  error = fd.get() < 0 ? errno : 0;
  if (error != 0) return FileError(error, std::string(what));
  return fd;
}

}  // namespace

Result<Fd> OpenInRoot(int root, const std::string& path, int flags, std::string_view what,
                      int& error) {
  Result<Fd> fd = OpenOnce(root, path, flags, what, error);
  if (error != ENOTDIR) return fd;
  const std::string resolved = ResolveTextLinks(root, path, (flags & O_DIRECTORY) != 0);
  return resolved == path ? std::move(fd) : OpenOnce(root, resolved, flags, what, error);
}

Fd OpenBeneath(int dir, const std::string& path, int flags, int& error) {
  Fd fd(OpenAt2(dir, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS));
  error = fd.get() < 0 ? errno : 0;
  return fd;
}

}  // namespace fabric::host
