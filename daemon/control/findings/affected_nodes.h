// Which nodes a finding is about, and what is known of them now. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/fleet/fleet.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// The node that is the finding's subject; without one, those that its evidence names. Only nodes
// that the fleet knows.
std::vector<const fleet::NodeRecord*> AffectedNodes(const v1::Finding& finding,
                                                    const fleet::Fleet& fleet);

// True when the finding's subject is a node that is not connected, or has not told its settings for
// long; or when it has no node, and the nodes that its evidence names are all such ones.
bool AffectsOnlyLostNodes(const v1::Finding& finding, const fleet::Fleet& fleet);

// Why the finding's facts are too old to say whether it still holds; empty when they are not.
std::string ExpiryReason(const v1::Finding& finding, const fleet::Fleet& fleet);

// Whether a node that the finding is about was booted less than `grace` ago, by its own clock as
// far as its agent has told it. A node whose boot time is not known is not young.
bool AffectsBootingNode(const v1::Finding& finding, const fleet::Fleet& fleet, Duration grace,
                        Moment now);

}  // namespace fabric::control
