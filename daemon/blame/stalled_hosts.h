// Hosts that did not run during several of their probes: frozen, paused or overloaded.
#pragma once

#include <vector>

#include "daemon/blame/fault.h"

namespace fabric::blame {

// One decided fault for each stalled host. Empty if most hosts were late: then the cause is not one
// of them.
std::vector<Fault> StalledHosts(const ObservationPaths& paths);

}  // namespace fabric::blame
