// An inferred profile as text, with who differs in comments.
#pragma once

#include <string>
#include <vector>

#include "daemon/infer/vote.h"

namespace fabric::infer {

// Good for profile::ParseProfiles().
std::string ToYaml(const fleet::FleetView& fleet, const std::vector<Outcome>& outcomes);

}  // namespace fabric::infer
