// Aggregate finding: replaces several findings with a common cause. See finding_aggregator.h.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Equal for failures of one rule that differ only in their subject. Empty for findings that are not
// aggregated: UNKNOWN, and subjects other than ports, nodes and rails.
std::string SimilarityKey(const v1::Finding& finding);

// Sets Finding.common_cause. `subject`: contains all members. There is at least one member.
v1::Finding CommonCause(v1::Subject subject, std::vector<const v1::Finding*> members);

}  // namespace fabric::rules
