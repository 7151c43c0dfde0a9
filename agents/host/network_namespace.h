// Child process in another network namespace, for inspecting a container's view of the machine.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace fabric::host {

// Runs `inside` in a child process that has joined the network namespace of the file `path`
// ("/proc/4242/ns/net", "/run/netns/blue") and returns its result. Sockets opened there belong to
// that namespace, and /sys shows its netdevs: the child has its own mount namespace with a
// read-only sysfs; cgroups, debugfs and configfs are unchanged. Does not change this process or the
// machine.
//
// PERMISSION_DENIED without CAP_SYS_ADMIN; UNAVAILABLE when the child dies; DEADLINE_EXCEEDED after
// half a minute. The calling process must have one thread only.
Result<std::string> InNetworkNamespace(const std::string& path,
                                       const std::function<std::string()>& inside);

}  // namespace fabric::host
