// Files that are named on the command line.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace fabric::ctl {

// The whole file; "-" is standard input. RESOURCE_EXHAUSTED when it is larger than `bytes_max`.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace fabric::ctl
