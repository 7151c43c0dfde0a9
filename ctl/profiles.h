// Profiles that are named on the command line.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/profile/profile.h"

namespace fabric::ctl {

// The profiles of a file. Failures of reading and of the text, with the place.
Result<std::vector<v1::Profile>> ReadProfiles(const std::string& file);

// One that is shipped, or else the last one of a file, which may inherit from the others there and
// from the shipped ones. Nothing is expected when `name` is empty.
Result<profile::Profile> FindProfile(const std::string& name);

// As it is written, without what it inherits.
Result<v1::Profile> FindProfileText(const std::string& name);

}  // namespace fabric::ctl
