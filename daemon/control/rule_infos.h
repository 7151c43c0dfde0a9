// Descriptions of all rules that can make findings: shipped ones, custom ones, and the checks of
// InfiniBand subnets.
#pragma once

#include <vector>

#include "fabric/v1/finding.pb.h"

namespace fabric::control {

struct ControllerOptions;

std::vector<v1::RuleInfo> RuleInfos(const ControllerOptions& options);

}  // namespace fabric::control
