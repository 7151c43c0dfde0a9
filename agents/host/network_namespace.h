// Looking at the machine from within another network namespace, as a job in a container does.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace fabric::host {

// Runs `inside` in a child process that has joined the network namespace of the file `path`
// ("/proc/4242/ns/net", "/run/netns/blue") and returns what it returns. Sockets that are opened
// there belong to that namespace, and /sys shows its netdevs: the child has a mount namespace of
// its own with a read-only sysfs, in which cgroups, debugfs and configfs stay what they are.
// Nothing of this process or of the machine changes.
//
// PERMISSION_DENIED without CAP_SYS_ADMIN; UNAVAILABLE when the child dies; DEADLINE_EXCEEDED after
// half a minute. The calling process must have one thread only.
Result<std::string> InNetworkNamespace(const std::string& path,
                                       const std::function<std::string()>& inside);

}  // namespace fabric::host
