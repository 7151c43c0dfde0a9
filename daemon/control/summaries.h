// Summaries, changes of ports and errors about names for the API. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/summaries.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

using fleet::Summarize;

// Ports whose state differs between two snapshots of a node. A port that is in one of them alone
// has no state in the other.
std::vector<v1::PortEvent> PortChanges(const v1::NodeSnapshot& before,
                                       const v1::NodeSnapshot& after);

// NOT_FOUND: "unknown node 'n11'; did you mean 'n1'?"
Status NoSuch(std::string_view what, const std::string& name,
              const std::vector<std::string>& known);

// INVALID_ARGUMENT unless it may name a node: 1 to 253 letters, digits, '-', '.' and '_'.
Status CheckNodeName(const std::string& name);

}  // namespace fabric::control
