// Descriptions of all rules that can make findings: shipped ones, custom ones, and the checks of
// InfiniBand subnets.
#pragma once

#include <vector>

#include "fabric/v1/finding.pb.h"

namespace fabric::control {

struct State;

std::vector<v1::RuleInfo> RuleInfos(const State& state);

}  // namespace fabric::control
