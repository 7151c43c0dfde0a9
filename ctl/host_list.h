// Lists of nodes as people and schedulers write them: "n1,n2", "gpu[001-016,20]", "r[1-2]n[01-04]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::ctl {

inline constexpr std::size_t kHostsMax = 65'536;

// Names are divided by commas, blanks and lines; what follows a '#' up to the end of its line is
// not read. A range keeps the leading zeros of its first number. Every name once, in the order in
// which they are first named. INVALID_ARGUMENT, in one line, for what is no list.
Result<std::vector<std::string>> ParseHostList(std::string_view text);

// The list itself, "@FILE" or "-" for standard input; an error names the file.
Result<std::vector<std::string>> ReadHostList(const std::string& argument);

}  // namespace fabric::ctl
