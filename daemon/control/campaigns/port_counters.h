// Recent counter changes of ports, as evidence for blame.
#pragma once

#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/fabric.h"
#include "daemon/fleet/fleet.h"

namespace fabric::control {

// Counters of the places that changed within the last window; rare fault counters within the last
// hour.
std::vector<blame::PortCounters> CountersOf(const fleet::Fleet& fleet, const blame::Fabric& fabric);

}  // namespace fabric::control
