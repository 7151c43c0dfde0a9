// Gaps that stand for several.
#pragma once

#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric {

// Whether `path` is what the gap's path names, or below it. "*" in the gap's path stands for any
// name: one gap about several devices has it where their names would be.
bool Covers(const v1::Gap& gap, std::string_view path);

// Covers(), or the gap is about something below `path`.
bool Touches(const v1::Gap& gap, std::string_view path);

}  // namespace fabric
