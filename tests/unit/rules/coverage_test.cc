// What the verdicts cover: rules that judged, reasons of UNKNOWN, missing expectations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine/engine.h"
#include "tests/testing/nodes.h"
#include "tests/unit/rules/judged.h"
#include "tests/unit/rules/random_nodes.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using ::testing::Not;

TEST(Coverage, SaysWhatWasJudgedAndWhatWasNot) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::DeviceOf(nodes[0], 0).clear_firmware();
  const v1::Coverage coverage = JudgeWithCauses(nodes).coverage;
  EXPECT_GT(coverage.rules_judged(), 50U);
  EXPECT_GT(coverage.rules_not_applicable(), 10U);
  EXPECT_GT(coverage.rules_without_rates(), 5U);
  EXPECT_EQ(
      coverage.rules_judged() + coverage.rules_not_applicable() + coverage.rules_without_rates(),
      AllRules().size());
  ASSERT_EQ(coverage.unread_size(), 1);
  EXPECT_THAT(coverage.unread(0).rules(), ElementsAre("firmware_equal"));
  EXPECT_EQ(coverage.unread(0).verdicts(), 1U);
  EXPECT_THAT(coverage.expectations_missing(), Contains("rate_bps"));
  EXPECT_THAT(coverage.expectations_missing(), Not(Contains("subnet_prefix")));
}

TEST(Coverage, ExpectationsThatAProfileSetsAreNotMissing) {
  v1::Expectations expectations;
  expectations.set_rate_bps(1);
  const auto nodes = Nodes(3, testing::RoceNode);
  EXPECT_THAT(JudgeWithCauses(nodes, Expecting(expectations)).coverage.expectations_missing(),
              Not(Contains("rate_bps")));
}

TEST(Coverage, NamesTheRulesThatJudged) {
  const v1::Coverage coverage = JudgeWithCauses(Nodes(3, testing::RoceNode)).coverage;
  EXPECT_EQ(static_cast<std::uint32_t>(coverage.judged_size()), coverage.rules_judged());
  EXPECT_TRUE(std::is_sorted(coverage.judged().begin(), coverage.judged().end()));
  for (const char* rule :
       {"port_active", "pfc_equal_on_rail", "duplicate_gid", "clock_synchronized"})
    EXPECT_THAT(coverage.judged(), Contains(rule));
  EXPECT_THAT(coverage.judged(), Not(Contains("lid_assigned")));
}

TEST(Coverage, TheReasonOfARuleThatReportsUnknownItselfIsItsTitle) {
  v1::NodeSnapshot node;
  node.mutable_node()->set_name("n1");
  const v1::Coverage coverage = JudgeWithCauses({node}).coverage;
  std::vector<std::string> reasons;
  for (const v1::UnreadReason& unread : coverage.unread()) reasons.push_back(unread.reason());
  EXPECT_THAT(reasons,
              Contains("no RDMA device, no GPU, no RDMA card: rules about RDMA do not apply"));
  EXPECT_THAT(reasons, Not(Contains("none")));
}

// Nodes n1, n2 ... in an engine.
struct EngineOfNodes {
  explicit EngineOfNodes(const std::vector<v1::NodeSnapshot>& nodes) {
    records.reserve(nodes.size());
    for (const v1::NodeSnapshot& node : nodes)
      records.push_back({.name = node.node().name(), .snapshot = node});
    fleet::AssignRails(records);
    for (const fleet::NodeRecord& record : records) engine.Put(record);
    all = engine.All();
  }
  std::vector<fleet::NodeRecord> records;
  Engine engine;
  Evaluation all;
};

TEST(CoverageOfANode, HasItsOwnReasonsOnly) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::DeviceOf(nodes[0], 0).clear_firmware();
  const EngineOfNodes fleet(nodes);
  const auto first = fleet.engine.CoverageOf({"n1"});
  const auto second = fleet.engine.CoverageOf({"n2"});
  ASSERT_TRUE(first && second);
  ASSERT_EQ(first->unread_size(), 1);
  EXPECT_THAT(first->unread(0).rules(), ElementsAre("firmware_equal"));
  EXPECT_THAT(second->unread(), IsEmpty());
  EXPECT_GT(second->rules_judged(), 50U);
  EXPECT_THAT(second->expectations_missing(), Contains("rate_bps"));
  EXPECT_FALSE(fleet.engine.CoverageOf({"n4"}));
}

TEST(CoverageOfANode, CountsTheRulesThatApplyThere) {
  auto nodes = Nodes(3, testing::RoceNode);
  nodes.push_back(testing::InfinibandNode({.number = 4}));
  const EngineOfNodes fleet(nodes);
  const auto ethernet = fleet.engine.CoverageOf({"n1", "n2"});
  const auto infiniband = fleet.engine.CoverageOf({"n4"});
  EXPECT_THAT(ethernet->judged(), Contains("pfc_equal_on_rail"));
  EXPECT_THAT(infiniband->judged(), Not(Contains("pfc_equal_on_rail")));
  EXPECT_THAT(infiniband->judged(), Contains("lid_assigned"));
  EXPECT_THAT(ethernet->expectations_missing(), Not(Contains("subnet_prefix")));
  EXPECT_THAT(infiniband->expectations_missing(), Contains("subnet_prefix"));
}

bool PassesSomewhere(const Rule& rule, const EngineOfNodes& fleet) {
  fleet::ExpectationTable expectations;
  return std::ranges::any_of(fleet.records, [&](const fleet::NodeRecord& record) {
    Verdicts out(rule.id, rule.severity);
    rule.evaluate_node(fleet::ViewOf(record, {}, expectations), out);
    return out.passes() > 0;
  });
}

TEST(Coverage, CountsARuleOfOneNodeWherePassesAreLeft) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const EngineOfNodes fleet(RandomFleet(4, random));
    const v1::Coverage& coverage = fleet.all.coverage;
    const std::set<std::string> judged(coverage.judged().begin(), coverage.judged().end());
    std::set<std::string> with_findings;
    for (const v1::Finding& finding : fleet.all.findings) with_findings.insert(finding.rule());
    for (const Rule* const rule : AllRules()) {
      const std::string id(rule->id);
      if (rule->evaluate_node == nullptr || rule->single_node_only || with_findings.contains(id))
        continue;
      EXPECT_EQ(judged.contains(id), PassesSomewhere(*rule, fleet)) << id << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fabric::rules
