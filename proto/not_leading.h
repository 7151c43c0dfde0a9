// Texts of a controller that does not lead, or that is not sure to lead.
#pragma once

#include <string_view>

namespace fabric {

// Beginning of the message, with code UNAVAILABLE.
inline constexpr std::string_view kNotLeading = "this controller does not lead";
// Trailing metadata of an answer that can be out of date: the reason.
inline constexpr const char* kWarningKey = "fabric-warning";
// Trailing metadata of an answer of a controller that does not lead: seconds since it has read the
// state.
inline constexpr const char* kStateAgeKey = "fabric-state-age-seconds";

}  // namespace fabric
