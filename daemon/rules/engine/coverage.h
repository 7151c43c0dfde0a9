// What the verdicts on a fleet cover: rules that judged, reasons of UNKNOWN, missing expectations.
#pragma once

#include <set>
#include <string_view>

#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// `judged`: ids of rules with a verdict.
v1::Coverage Summarize(const NodeIndex& nodes, const std::set<std::string_view>& judged,
                       const Evaluation& evaluation);

}  // namespace fabric::rules
