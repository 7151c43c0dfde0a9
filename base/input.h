// Files that people name: on the command line and in settings. "-" is standard input.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

// Hands the file over in pieces, so that its size does not matter. The error names the file.
Status ReadInput(const std::string& path, const std::function<void(std::string_view)>& on_bytes);

// The whole file. RESOURCE_EXHAUSTED when it is larger than `bytes_max`.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace fabric
