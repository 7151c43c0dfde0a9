// Rails, their leaf switches and the ports below them as indented text, with open findings. Pure.
#pragma once

#include <string>

#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {

// Below each leaf switch: the ports that are not ACTIVE or have an open finding, or with `all`
// every port. Findings that are silenced or that another finding explains are left out.
std::string TopologyTree(const v1::ListDevicesResponse& devices,
                         const v1::ListFindingsResponse& findings, bool all);

}  // namespace fabric::ctl
