// Boot time of the machine.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace fabric::inspect {

// "btime" of the text of proc/stat (fs/proc/stat.c): whole seconds since 1970, by the node's clock;
// a step of that clock changes it. Empty without that line.
std::optional<WallTime> BootTimeOf(std::string_view stat);

}  // namespace fabric::inspect
