// What profiles and their places have in common: whom they inherit from, and whom they mean.
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

// The profile and all that it inherits from, the oldest ancestor first; borrows both. NOT_FOUND and
// INVALID_ARGUMENT as Profile::Make().
Result<std::vector<const v1::Profile*>> Lineage(const v1::Profile& profile,
                                                std::span<const v1::Profile> known);

// True when every field that is given matches.
bool Matches(const v1::Selector& where, const Traits& traits);

// True without any pattern; else an empty text matches none.
bool MatchesAny(const google::protobuf::RepeatedPtrField<std::string>& patterns,
                std::string_view text);

}  // namespace fabric::profile
