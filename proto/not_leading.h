// Beginning of the message of a controller that does not lead, with code UNAVAILABLE.
#pragma once

#include <string_view>

namespace fabric {

inline constexpr std::string_view kNotLeading = "this controller does not lead";

}  // namespace fabric
