// Profiles named on the command line: built-in profiles and files.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/profile/places.h"
#include "daemon/profile/profile.h"

namespace fabric::ctl {

// Includes inherited values. An empty `name` gives a profile without expectations.
Result<profile::Profile> FindProfile(const std::string& name);

// The places of the profile; none if `name` is empty.
Result<profile::Places> FindPlaces(const std::string& name);

// As written, without inherited values.
Result<v1::Profile> FindProfileText(const std::string& name);

}  // namespace fabric::ctl
