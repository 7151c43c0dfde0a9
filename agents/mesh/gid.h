// GIDs between text, as everywhere in the tree, and the bytes of a ping. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::mesh {

using GidBytes = std::array<std::byte, 16>;

// "0000:0000:0000:0000:0000:ffff:0a0a:0001", eight groups. INVALID_ARGUMENT otherwise.
Result<GidBytes> ParseGid(std::string_view text);
std::string GidText(const GidBytes& gid);

}  // namespace fabric::mesh
