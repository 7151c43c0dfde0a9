// A fleet of snapshots, judged: what the tests of single rules look at.
#pragma once

#include <string>
#include <vector>

#include "daemon/rules/rule.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {

Evaluation JudgeWithCauses(const std::vector<v1::NodeSnapshot>& nodes,
                           const profile::Profile& profile = {});
// What the rules find; what several findings have as a common cause is grouping_test's.
Evaluation Judge(const std::vector<v1::NodeSnapshot>& nodes, const profile::Profile& profile = {});

// "pfc_equal_on_rail n3/rxe0/1" for every failing finding, sorted.
std::vector<std::string> Failures(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile = {});
// Of what moved between two moments of each node: the counters of the earlier ones are taken away.
std::vector<std::string> FailuresBetween(const std::vector<v1::NodeSnapshot>& before,
                                         const std::vector<v1::NodeSnapshot>& after,
                                         const profile::Profile& profile = {});
Evaluation JudgeBetween(const std::vector<v1::NodeSnapshot>& before,
                        const std::vector<v1::NodeSnapshot>& after,
                        const profile::Profile& profile = {});
// The same for the unknown ones.
std::vector<std::string> Unknowns(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile = {});

// The only failing finding; an empty one with a test failure when there are none or more.
v1::Finding TheFailure(const std::vector<v1::NodeSnapshot>& nodes,
                       const profile::Profile& profile = {});

// A profile "test" that expects this everywhere.
profile::Profile Expecting(const v1::Expectations& expectations);

}  // namespace fabric::rules
