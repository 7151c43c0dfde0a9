// Evaluation of a fleet of snapshots, for tests of rules.
#pragma once

#include <string>
#include <vector>

#include "daemon/rules/rule.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {

Evaluation JudgeWithCauses(const std::vector<v1::NodeSnapshot>& nodes,
                           const profile::Profile& profile = {});
// Without aggregates, which finding_aggregator_test covers.
Evaluation Judge(const std::vector<v1::NodeSnapshot>& nodes, const profile::Profile& profile = {});

// "pfc_equal_on_rail n3/rxe0/1" for every failing finding, sorted.
std::vector<std::string> Failures(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile = {});
// With the counter rates between two snapshots of each node.
std::vector<std::string> FailuresBetween(const std::vector<v1::NodeSnapshot>& before,
                                         const std::vector<v1::NodeSnapshot>& after,
                                         const profile::Profile& profile = {});
Evaluation JudgeBetween(const std::vector<v1::NodeSnapshot>& before,
                        const std::vector<v1::NodeSnapshot>& after,
                        const profile::Profile& profile = {});
// The same for UNKNOWN findings.
std::vector<std::string> Unknowns(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile = {});

// The only failing finding. Fails the test and returns an empty one when there are none or several.
v1::Finding TheFailure(const std::vector<v1::NodeSnapshot>& nodes,
                       const profile::Profile& profile = {});

// A profile "test" that expects this everywhere.
profile::Profile Expecting(const v1::Expectations& expectations);

}  // namespace fabric::rules
