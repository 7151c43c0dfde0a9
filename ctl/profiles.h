// Profiles that are named on the command line: shipped ones, and files.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/profile/places.h"
#include "daemon/profile/profile.h"

namespace fabric::ctl {

// With all that it inherits; nothing is expected when `name` is empty.
Result<profile::Profile> FindProfile(const std::string& name);

// The places of that profile; none when `name` is empty.
Result<profile::Places> FindPlaces(const std::string& name);

// As it is written, without what it inherits.
Result<v1::Profile> FindProfileText(const std::string& name);

}  // namespace fabric::ctl
