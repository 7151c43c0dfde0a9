// The finding that stands for several which have one cause. See grouping.h.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

bool IsOfPort(const v1::Finding& finding);

// Failures of one rule that say the same of different subjects have the same. Empty: of a kind that
// has no common cause. What could not be read is no fault, and has none.
std::string AlikeKey(const v1::Finding& finding);

// `whole`: what all the members are in; there is at least one.
v1::Finding CommonCause(v1::Subject whole, std::vector<const v1::Finding*> members);

// One of these, and no verdict of a rule by itself.
bool IsCommonCause(const v1::Finding& finding);

}  // namespace fabric::rules
