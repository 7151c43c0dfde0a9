// State of the nodes that a finding is about. Pure.
#pragma once

#include <string>

#include "base/clock.h"
#include "daemon/fleet/fleet.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// True when one of its nodes is lost, or its settings are outdated. Removed nodes do not count.
bool AffectsLostNode(const v1::Finding& finding, const fleet::Fleet& fleet);

// Names these nodes and gives the reason; empty without any.
std::string ExpiryReason(const v1::Finding& finding, const fleet::Fleet& fleet);

// "lost since 2026-11-21T13:33:29Z: no message for 3.0 s". The node is not known().
std::string UnjudgedReason(const fleet::NodeRecord& node);

// True when one of its nodes booted less than `grace` ago, by its own clock. A node with an unknown
// boot time does not count.
bool AffectsBootingNode(const v1::Finding& finding, const fleet::Fleet& fleet, Duration grace,
                        Moment now);

}  // namespace fabric::control
