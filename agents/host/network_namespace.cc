#include "agents/host/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <utility>
#include <vector>

#include "agents/host/child_answer.h"
#include "agents/host/resolve.h"
#include "agents/host/sysfs.h"

namespace fabric::host {
namespace {

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

}  // namespace

Result<std::string> InNetworkNamespace(const std::string& path,
                                       const std::function<std::string()>& inside) {
  const Result<std::string> answer = AnswerOfChild([&] { return AnswerInside(path, inside); });
  if (!answer.ok()) return answer.status().In("looking into " + path);
  const std::size_t blank = answer->find(' ');
  const auto code = ParseNumber<int>(std::string_view(*answer).substr(0, blank));
  if (blank == std::string::npos || !code.ok())
    return Status(Code::kUnavailable, path + ": the process that looked into it has died");
  if (*code != 0) return Status(static_cast<Code>(*code), answer->substr(blank + 1));
  return answer->substr(blank + 1);
}

}  // namespace fabric::host
