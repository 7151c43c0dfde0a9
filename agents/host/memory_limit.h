// Memory limit of this process from its cgroup.
#pragma once

#include <cstdint>
#include <optional>

#include "agents/host/sysfs.h"

namespace fabric::host {

// Bytes: the smallest memory.max of the cgroup of this process and those above it (version 2,
// Documentation/admin-guide/cgroup-v2.rst), or memory.limit_in_bytes (version 1). Empty: no limit,
// or not readable. `root`: the live machine.
std::optional<std::uint64_t> MemoryLimit(const Dir& root);

}  // namespace fabric::host
