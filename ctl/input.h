// Files that are named on the command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::ctl {

// Reads the file in pieces, so that its size does not matter; "-" is standard input. The error
// names the file.
Status ReadInput(const std::string& path, const std::function<void(std::string_view)>& on_bytes);

}  // namespace fabric::ctl
