// Profiles as operators write them. Keys are the fields of v1::Profile and v1::Expectations,
// enumerators their words in lower case ("dscp", "roce", "pxb"), lists of priorities plain lists.
// A file holds one profile, or several documents with one each. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/profile/profile.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// `file` names the text in errors. INVALID_ARGUMENT with "file:line:column: ", what was expected
// and what was seen, for every mistake of the text, one line each.
Result<std::vector<v1::Profile>> ParseProfiles(std::string_view yaml, std::string_view file);

// What ParseProfiles() reads.
std::string ToYaml(const v1::Profile& profile);

// The profiles that come with fabricd: deploy/profiles/*.yaml.
const std::vector<v1::Profile>& ShippedProfiles();

// More than any profile has; for those who read the file.
inline constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;

// The text of a file.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

// The profile that is shipped under this name, or the last one of the file with this path, as it is
// written. INVALID_ARGUMENT for a name that is neither, and failures of ParseProfiles and `read`.
Result<v1::Profile> FindProfile(const std::string& name, const ReadText& read);

// The same with all that it inherits from others of its file and from shipped ones. Without a name
// nothing is expected.
Result<Profile> LoadProfile(const std::string& name, const ReadText& read);

}  // namespace fabric::profile
