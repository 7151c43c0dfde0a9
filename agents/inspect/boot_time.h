// When the machine was started.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace fabric::inspect {

// "btime" of the text of proc/stat (fs/proc/stat.c): whole seconds since 1970, by the node's own
// clock; a step of that clock moves it too. Nothing when there is none.
std::optional<WallTime> BootTimeOf(std::string_view stat);

}  // namespace fabric::inspect
