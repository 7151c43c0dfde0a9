// Inference of a profile from the majority of the fleet: a starting point for an operator's own.
// Pure.
//
// Comparable ports and nodes are those that rules compare (rail, model, driver, product). The value
// of the majority is expected of all of them; where kinds differ, overrides select rails, models or
// drivers. A comment explains each value that is not set: no majority, or no selector distinguishes
// the ports. The majority may be wrong; the text warns of that.
#pragma once

#include "daemon/fleet/fleet_view.h"
#include "daemon/infer/majority.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::infer {

// `fleet` must not have a profile, because a profile changes which values rules compare.
v1::InferProfileResponse InferProfile(const fleet::FleetView& fleet);
// The same for a fleet whose values were taken node by node.
v1::InferProfileResponse InferProfile(const FieldValues& values);

}  // namespace fabric::infer
