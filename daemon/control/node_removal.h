// Removal of a node with everything that is kept about it: its snapshot, its findings, its history,
// its labels. Its open actions end.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/control/state.h"

namespace fabric::control {

// Of a lost node. Publishes and returns its last summary with this reason. UNAVAILABLE if the store
// refuses it; nothing has changed then.
Result<v1::NodeSummary> RemoveNode(State& state, const std::string& name, const std::string& reason,
                                   Moment now);

// Removes nodes that have been lost for longer than the option `node_expiry`, at most
// kExpiredOfTurn of them. A node that the store keeps is tried again with the next call.
inline constexpr std::size_t kExpiredOfTurn = 16;
void RemoveExpired(State& state, Moment now);

}  // namespace fabric::control
