// Summaries of nodes and ports, as lists of the API have them. Pure.
#pragma once

#include <cstdint>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::fleet {

v1::NodeSummary Summarize(const NodeRecord& node, std::uint32_t findings_open);
v1::DeviceSummary Summarize(const PortView& port);  // Without its leaf

}  // namespace fabric::fleet
