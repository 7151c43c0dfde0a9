// Leaf switches, nodes and their links as a graph, for Graphviz and as a picture. Pure.
#pragma once

#include <string>

#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {

// Graphviz: one edge for each port, red if the port is not ACTIVE. Ports without a known leaf are
// at the leaf "unknown".
std::string TopologyDot(const v1::ListDevicesResponse& devices);
// SVG: leaf switches on the left, nodes on the right.
std::string TopologySvg(const v1::ListDevicesResponse& devices);

}  // namespace fabric::ctl
