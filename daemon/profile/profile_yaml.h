// Profiles in YAML. Keys are the fields of v1::Profile and v1::Expectations; see
// proto/message_yaml.h for values. A file has one or more documents with one profile each. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/profile/profile.h"
#include "fabric/v1/profile.pb.h"

namespace fabric::profile {

// `file`: name of the text in errors. INVALID_ARGUMENT with one line for each error:
// "file:line:column: ", the expected and the seen value.
Result<std::vector<v1::Profile>> ParseProfiles(std::string_view yaml, std::string_view file);

// YAML that ParseProfiles() reads back.
std::string ToYaml(const v1::Profile& profile);

// The built-in profiles: deploy/profiles/*.yaml.
const std::vector<v1::Profile>& ShippedProfiles();

// Maximum size of a profile file.
inline constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;

// The text of a file.
using ReadText = std::function<Result<std::string>(const std::string& path)>;

// The built-in profile of this name, or the last profile of the file with this path, without
// inheritance. INVALID_ARGUMENT for an unknown name; failures of ParseProfiles and `read`.
Result<v1::Profile> FindProfile(const std::string& name, const ReadText& read);

// The same, merged with its ancestors in the file and the built-in profiles. An empty name gives a
// profile without expectations.
Result<Profile> LoadProfile(const std::string& name, const ReadText& read);

}  // namespace fabric::profile
