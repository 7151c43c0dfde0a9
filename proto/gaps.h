// Matching of gaps, which may have wildcards, to paths. Pure.
#pragma once

#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric {

// Whether `path` is the path of the gap or below it. "*" in the path of the gap matches any name: a
// gap about several devices has it in place of their names.
bool Covers(const v1::Gap& gap, std::string_view path);

// Covers(), or the gap is about something below `path`.
bool Touches(const v1::Gap& gap, std::string_view path);

}  // namespace fabric
