// What the counters of a campaign's ports have done lately, as blame counts them.
#pragma once

#include <vector>

#include "daemon/blame/counters.h"
#include "daemon/blame/fabric.h"
#include "daemon/fleet/fleet.h"

namespace fabric::control {

// Of the places whose counters are followed by now: what moved within the last window, or within
// the last hour where it is rare and still a fault.
std::vector<blame::PortCounters> CountersOf(const fleet::Fleet& fleet, const blame::Fabric& fabric);

}  // namespace fabric::control
