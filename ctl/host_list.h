// Parser of node lists in the syntax of schedulers: "n1,n2", "gpu[001-016,20]", "r[1-2]n[01-04]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::ctl {

inline constexpr std::size_t kHostsMax = 65'536;

// Commas, blanks and newlines separate names; '#' starts a comment. A range keeps the leading zeros
// of its first number. Duplicates are removed; the order is kept. INVALID_ARGUMENT with a one-line
// message otherwise.
Result<std::vector<std::string>> ParseHostList(std::string_view text);

// The list itself, "@FILE" or "-" for standard input; an error names the file.
Result<std::vector<std::string>> ReadHostList(const std::string& argument);

}  // namespace fabric::ctl
