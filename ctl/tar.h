// Writer of tar archives (POSIX ustar). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace fabric::ctl {

// One regular file with mode 0600. `name`: at most 100 bytes; longer ones are cut.
std::string TarFile(std::string_view name, std::string_view content, WallTime modified);
// The end of an archive.
std::string TarEnd();

}  // namespace fabric::ctl
