// Nodes that a finding affects, and their current state. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/fleet/fleet.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// The node of the finding's subject; without one, the nodes that its evidence names. Only nodes of
// the fleet.
std::vector<const fleet::NodeRecord*> AffectedNodes(const v1::Finding& finding,
                                                    const fleet::Fleet& fleet);

// True when all affected nodes are lost or their settings are outdated.
bool AffectsOnlyLostNodes(const v1::Finding& finding, const fleet::Fleet& fleet);

// Reason why the finding's facts are too old to judge it; empty when they are not.
std::string ExpiryReason(const v1::Finding& finding, const fleet::Fleet& fleet);

// True when an affected node booted less than `grace` ago, by its own clock. A node with an unknown
// boot time does not count.
bool AffectsBootingNode(const v1::Finding& finding, const fleet::Fleet& fleet, Duration grace,
                        Moment now);

}  // namespace fabric::control
