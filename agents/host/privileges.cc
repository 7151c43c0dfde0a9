#include "agents/host/privileges.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace fabric::host {
namespace {

// Tests whether this process can read and write a device. Opens it for reading only, because
// inspection never opens a device of the subnet for writing: faccessat() checks the mode of the
// file, and open() checks the device policy of the cgroup.
DeviceFile TryOpen(std::string path) {
  DeviceFile file{.path = std::move(path)};
  const char* const name = file.path.c_str();
  const bool permitted = ::faccessat(AT_FDCWD, name, R_OK | W_OK, AT_EACCESS) == 0;
  const int fd = permitted ? ::open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  if (fd < 0)
    file.error = errno;
  else
    ::close(fd);
  return file;
}

// One device file for each entry of a class whose name begins with `prefix`.
std::vector<DeviceFile> TryClass(const Dir& root, const std::string& folder,
                                 std::string_view prefix, const std::string& devices) {
  std::vector<DeviceFile> files;
  const auto dir = root.Sub(folder);
  if (!dir.ok()) return files;
  const auto names = dir->Names();
  if (!names.ok()) return files;
  for (const std::string& name : *names)
    if (name.starts_with(prefix)) files.push_back(TryOpen(devices + name));
  return files;
}

// NVIDIA's driver makes nvidiactl and nvidia-uvm; AMD's makes kfd and a render node for each GPU.
std::vector<DeviceFile> TryGpus(const Dir& root) {
  std::vector<DeviceFile> files;
  if (root.Has("proc/driver/nvidia/version"))
    files = {TryOpen("/dev/nvidiactl"), TryOpen("/dev/nvidia-uvm")};
  if (!root.Has("sys/class/kfd/kfd")) return files;
  files.push_back(TryOpen("/dev/kfd"));
  const auto nodes = TryClass(root, "sys/class/drm", "renderD", "/dev/dri/");
  files.insert(files.end(), nodes.begin(), nodes.end());
  return files;
}

std::uint64_t EffectiveCapabilities(const Dir& root) {
  const auto status = root.Whole("proc/self/status");
  if (!status.ok()) return 0;
  for (const std::string_view line : Split(*status, '\n')) {
    if (!line.starts_with("CapEff:")) continue;
    const auto bits = ParseNumber<std::uint64_t>(Trim(line.substr(7)), 16);
    return bits.ok() ? *bits : 0;
  }
  return 0;
}

// NOT_FOUND if it is not mounted: the folder of sysfs is empty then, as in a container.
Status TryDebugfs(const Dir& root) {
  const auto debug = root.Sub("sys/kernel/debug");
  if (!debug.ok()) return debug.status();
  const auto names = debug->Names();
  if (!names.ok()) return names.status();
  if (names->empty()) return {Code::kNotFound, "sys/kernel/debug: debugfs is not mounted"};
  return {};
}

}  // namespace

Privileges ReadPrivileges(const Dir& root) {
  Privileges privileges{
      .user = static_cast<std::uint32_t>(::geteuid()),
      .capabilities = EffectiveCapabilities(root),
      .memlock_bytes = {},
      .uverbs = TryClass(root, "sys/class/infiniband_verbs", "uverbs", "/dev/infiniband/"),
      .umad = TryClass(root, "sys/class/infiniband_mad", "umad", "/dev/infiniband/"),
      .gpu = TryGpus(root),
      .environment = root.Whole("proc/1/environ").status(),
      .debugfs = {}};
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    privileges.memlock_bytes = limit.rlim_cur;
  // Process 2 of the host is the kernel's kthreadd. No other PID namespace has it.
  const auto second = root.Text("proc/2/comm");
  privileges.sees_host_processes = second.ok() && *second == "kthreadd";
  privileges.debugfs = TryDebugfs(root);
  return privileges;
}

bool HasCapability(const Privileges& privileges, int capability) {
  return (privileges.capabilities >> capability & 1) != 0;
}

}  // namespace fabric::host
