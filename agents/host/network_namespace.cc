#include "agents/host/network_namespace.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "agents/host/resolve.h"
#include "agents/host/sysfs.h"

namespace fabric::host {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr unsigned long kSafe = MS_NOSUID | MS_NODEV | MS_NOEXEC;
// Mounted below sysfs on most machines, and the same in every network namespace.
constexpr const char* kKept[] = {"/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/config"};

Status Denied(int error, const std::string& what) {
  if (error != EPERM && error != EACCES) return FromErrno(error, what);
  return {Code::kPermissionDenied, what + ": needs CAP_SYS_ADMIN"};
}

// sysfs shows the netdevs of the network namespace it is mounted from.
Status MountSysfs() {
  if (::unshare(CLONE_NEWNS) != 0) return Denied(errno, "a mount namespace of its own");
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Denied(errno, "private mounts");
  std::vector<std::pair<const char*, Fd>> kept;
  for (const char* path : kKept)
    kept.emplace_back(path, Fd(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)));
  // Writable as a whole, or other mounts of the same namespace would be read-only, too; read-only
  // at this place. EBUSY: the mount there already shows this namespace.
  if (::mount("sysfs", "/sys", "sysfs", kSafe, nullptr) != 0)
    return errno == EBUSY ? Status() : Denied(errno, "mounting sysfs");
  if (::mount(nullptr, "/sys", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kSafe, nullptr) != 0)
    return Denied(errno, "making sysfs read-only");
  for (const auto& [path, fd] : kept) {
    const std::string source = Format("/proc/self/fd/{}", fd.get());
    // One that is not there is not there inside either.
    if (fd.get() >= 0) ::mount(source.c_str(), path, nullptr, MS_BIND | MS_REC, nullptr);
  }
  return {};
}

Status Enter(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && (errno == EACCES || errno == EPERM))
    return {Code::kPermissionDenied, path + ": needs CAP_SYS_PTRACE"};
  if (file.get() < 0) return FileError(errno, path);
  const int error = ::setns(file.get(), CLONE_NEWNET) == 0 ? 0 : errno;
  if (error == EINVAL) return {Code::kInvalidArgument, path + ": not a network namespace"};
  if (error != 0) return Denied(error, "entering the network namespace " + path);
  return MountSysfs().In(path);
}

// "0" and the result, or the number of the failure's code, a blank, and its message.
std::string AnswerInside(const std::string& path, const std::function<std::string()>& inside) {
  if (const Status status = Enter(path); !status.ok())
    return Format("{} {}", static_cast<int>(status.code()), status.message());
  return "0 " + inside();
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

Result<std::string> ReadAll(int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = left.count() > 0 ? ::poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Status(Code::kDeadlineExceeded, "no answer within 30 s");
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FromErrno(errno, "reading the answer");
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<std::string> InNetworkNamespace(const std::string& path,
                                       const std::function<std::string()>& inside) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FromErrno(errno, "a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return FromErrno(errno, "a child process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    WriteAll(to.get(), AnswerInside(path, inside));
    ::_exit(0);
  }
  { const Fd closed = std::move(to); }
  Result<std::string> answer = ReadAll(from.get());
  if (!answer.ok()) ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!answer.ok()) return answer.status().In("looking into " + path);
  const std::size_t blank = answer->find(' ');
  const auto code = ParseNumber<int>(std::string_view(*answer).substr(0, blank));
  if (blank == std::string::npos || !code.ok())
    return Status(Code::kUnavailable, path + ": the process that looked into it has died");
  if (*code != 0) return Status(static_cast<Code>(*code), answer->substr(blank + 1));
  return answer->substr(blank + 1);
}

}  // namespace fabric::host
