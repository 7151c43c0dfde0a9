// Resource use of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace fabric {

struct ProcessStat {
  std::string_view name;  // As client libraries of Prometheus name it: "process_open_fds"
  std::string_view help;
  bool counter = false;
  std::optional<double> value;  // Absent: not readable
};

// CPU time, memory, file descriptors and start time. A few microseconds.
std::vector<ProcessStat> ReadProcessStats(WallTime started);

}  // namespace fabric
