// Nodes that a finding is about, from its list of affected subjects.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/finding.pb.h"

namespace fabric {

// Sorted, each once. A finding from an older version, without a list, has the node of its subject.
std::vector<std::string> NodesOf(const v1::Finding& finding);

bool Affects(const v1::Finding& finding, std::string_view node);

using NodeSet = std::set<std::string, std::less<>>;
bool AffectsOneOf(const v1::Finding& finding, const NodeSet& nodes);

}  // namespace fabric
