// Input files named on the command line or in settings. "-" is standard input.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// Passes the file to `on_bytes` in pieces, without a size limit. The error names the file.
Status ReadInput(const std::string& path, const std::function<void(std::string_view)>& on_bytes);

// Reads a whole file. RESOURCE_EXHAUSTED if it is larger than `bytes_max`.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace fabric
