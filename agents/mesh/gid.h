// Conversion of GIDs between text and bytes. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::mesh {

using GidBytes = std::array<std::byte, 16>;  // In network order

// "0000:0000:0000:0000:0000:ffff:0a0a:0001", eight groups. INVALID_ARGUMENT for other text.
Result<GidBytes> ParseGid(std::string_view text);
std::string GidText(const GidBytes& gid);

}  // namespace fabric::mesh
