// Profiles as operators write them. Keys are the fields of v1::Profile and v1::Expectations,
// enumerators their words in lower case ("dscp", "roce", "pxb"), lists of priorities plain lists.
// A file holds one profile, or several documents with one each. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// `file` names the text in errors. INVALID_ARGUMENT with "file:line:column: ", what was expected
// and what was seen, for every mistake of the text, one line each.
Result<std::vector<v1::Profile>> ParseProfiles(std::string_view yaml, std::string_view file);

// What ParseProfiles() reads.
std::string ToYaml(const v1::Profile& profile);

// The profiles that come with fabricd: deploy/profiles/*.yaml.
const std::vector<v1::Profile>& ShippedProfiles();

}  // namespace fabric::profile
