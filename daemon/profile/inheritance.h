// Inheritance between profiles, and matching of their selectors.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/profile/profile.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// The profile and all its ancestors, the oldest first. Borrows both arguments. NOT_FOUND and
// INVALID_ARGUMENT as Profile::Make().
Result<std::vector<const v1::Profile*>> InheritanceChain(const v1::Profile& profile,
                                                         std::span<const v1::Profile> known);

// True when every field that is set matches.
bool Matches(const v1::Selector& where, const Traits& traits);

// True for an empty list of patterns. An empty text matches no pattern.
bool MatchesAny(const google::protobuf::RepeatedPtrField<std::string>& patterns,
                std::string_view text);

}  // namespace fabric::profile
