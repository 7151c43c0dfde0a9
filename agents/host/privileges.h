// Privileges of this process. Each is tried without side effects: device files are opened for
// reading and closed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/sysfs.h"
#include "base/status.h"

namespace fabric::host {

// A device file that the kernel has made, or should have made.
struct DeviceFile {
  std::string path;  // "/dev/infiniband/uverbs0"
  int error = 0;  // errno of access(2) or open(2): EPERM: device policy of the cgroup, EACCES: mode
                  // of the file
};

struct Privileges {
  std::uint32_t user = 0;          // Effective user id
  std::uint64_t capabilities = 0;  // Effective set, one bit for each (linux/capability.h)
  std::optional<std::uint64_t> memlock_bytes;  // RLIMIT_MEMLOCK; absent: unlimited
  std::vector<DeviceFile> uverbs;              // One for each entry of sys/class/infiniband_verbs
  std::vector<DeviceFile> umad;                // One for each entry of sys/class/infiniband_mad
  std::vector<DeviceFile> gpu;       // Those that GPU memory needs, by the drivers that are loaded
  Status environment;                // Of reading the environment of process 1
  bool sees_host_processes = false;  // False in a PID namespace of its own
  Status debugfs;                    // Of listing sys/kernel/debug; NOT_FOUND: not mounted
};

// `root`: the live machine.
Privileges ReadPrivileges(const Dir& root);

bool HasCapability(const Privileges& privileges, int capability);  // CAP_* of linux/capability.h

}  // namespace fabric::host
