#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing/paths.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::Nodes;

TEST(AllRules, SayEverythingThatOperatorsNeed) {
  std::set<std::string_view> ids;
  for (const Rule* rule : AllRules()) {
    SCOPED_TRACE(rule->id);
    EXPECT_TRUE(ids.insert(rule->id).second) << "twice";
    EXPECT_FALSE(rule->title.empty());
    EXPECT_FALSE(rule->why.empty());
    EXPECT_FALSE(rule->source.empty());
    EXPECT_NE(rule->severity, v1::SEVERITY_UNSPECIFIED);
    EXPECT_NE(rule->scope, v1::SCOPE_UNSPECIFIED);
    EXPECT_FALSE(FolderOf(*rule).empty());
    EXPECT_EQ(rule->needs.empty(), rule->evaluate_unjudged != nullptr || rule->reported);
    EXPECT_FALSE(rule->fix.empty());
    EXPECT_EQ((rule->evaluate_node != nullptr) + !rule->equality_rules.empty() +
                  (rule->uniqueness_rule != nullptr) + (rule->group_rule != nullptr) +
                  (rule->lldp_rule != nullptr) +
                  (rule->evaluate_unjudged != nullptr && rule->evaluate_node == nullptr) +
                  rule->reported,
              1)
        << "exactly one of the seven kinds";
    EXPECT_TRUE(!rule->single_node_only || rule->evaluate_node != nullptr);
    for (const int field : rule->profile)
      EXPECT_NE(v1::Expectations::descriptor()->FindFieldByNumber(field), nullptr) << field;
    EXPECT_EQ(Info(*rule).id(), rule->id);
  }
}

TEST(Evaluate, AnEmptyFleetHasNoVerdicts) {
  const Evaluation evaluation = Judge({});
  EXPECT_EQ(evaluation.counts.pass(), 0U);
  EXPECT_TRUE(evaluation.findings.empty());
}

TEST(Evaluate, CountsEveryVerdict) {
  auto nodes = Nodes(3, testing::LabNode);
  const std::uint64_t healthy = Judge(nodes).counts.pass();
  EXPECT_GE(healthy, 6U) << "at least one for each port";
  testing::LinkDown(nodes[1], 1);
  testing::PortOf(nodes[2], 0).clear_state();
  const Evaluation evaluation = Judge(nodes);
  EXPECT_EQ(evaluation.counts.fail(), 1U);
  EXPECT_EQ(evaluation.counts.unknown(), 1U);
  EXPECT_LT(evaluation.counts.pass(), healthy);
}

TEST(Evaluate, TheFingerprintStaysWhenNetdevOrRailOfThePortChange) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::LinkDown(nodes[1], 1);
  const std::string before = TheFailure(nodes).id();
  EXPECT_EQ(before, "fa93ed2ff20f315f") << "stored findings are found again by it: never change it";
  for (auto& node : nodes) {
    testing::NetdevOf(node, 1).set_name("renamed");
    testing::PortOf(node, 1).set_netdev("renamed");
  }
  EXPECT_EQ(TheFailure(nodes).id(), before);
  testing::LinkDown(nodes[2], 1);
  for (const v1::Finding& finding : Judge(nodes).findings)
    EXPECT_EQ(finding.id() == before, finding.subject().node() == "n2");
}

}  // namespace
}  // namespace fabric::rules
