// M_Key of a subnet, from a file.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fabric::agent {

// One line: up to 16 hexadecimal digits, with or without "0x". PERMISSION_DENIED unless the file
// belongs to this user or root and others have no rights. Errors name the file and never contain
// its content.
Result<std::uint64_t> ReadMKey(const std::string& path);

}  // namespace fabric::agent
