// Nodes in maintenance: those of active silences that say so.
#pragma once

#include "daemon/control/state.h"

namespace fabric::control {

// Sets in the fleet which nodes are in maintenance. Call it when silences change, and from time to
// time: silences end.
void UpdateMaintenance(State& state);

}  // namespace fabric::control
