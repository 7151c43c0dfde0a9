// A profile of what most nodes have: a start for one's own. Pure.
//
// Like ports and nodes are found as the rules find them (rail, model, driver, product). What most
// of the like have is expected of all of them; where kinds differ there are overrides for rails,
// models or drivers. Left out, with a line that says why: what has no majority, and what no
// selector of a profile can tell apart. What most have may still be wrong: the text says so.
#pragma once

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::infer {

// `fleet` has to be one without a profile: that would decide what rules look at.
v1::InferProfileResponse InferProfile(const fleet::FleetView& fleet);

}  // namespace fabric::infer
