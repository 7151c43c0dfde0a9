// What a change of a node makes of what is found.
#include "daemon/rules/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "proto/names.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/lossless.h"
#include "tests/testing/nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class EngineTest : public ::testing::Test {
 protected:
  void Put(const v1::NodeSnapshot& node) {
    fleet::NodeRecord& record = records_[node.node().name()];
    record.name = node.node().name();
    record.snapshot = node;
    engine_.Put(record);
  }
  // "mtu_equal_on_rail n2/mlx5_0/1" for each that is new or reads differently.
  std::vector<std::string> Found() {
    last_ = engine_.Take();
    std::vector<std::string> names;
    for (const v1::Finding& finding : last_.found)
      names.push_back(finding.rule() + " " + SubjectName(finding.subject()));
    return names;
  }

  std::map<std::string, fleet::NodeRecord> records_;
  Engine engine_;
  Delta last_;
};

TEST_F(EngineTest, TellsWhatAChangeOpensAndEnds) {
  auto nodes = Nodes(4, testing::RoceNode);
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(), IsEmpty());
  testing::SetMtu(nodes[1], 0, 1500);
  Put(nodes[1]);
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n2/mlx5_0/1"));
  EXPECT_EQ(last_.counts.fail(), 1U);
  const std::string id = last_.found[0].id();
  EXPECT_THAT(Found(), IsEmpty()) << "said once";
  Put(nodes[2]);
  EXPECT_THAT(Found(), IsEmpty()) << "nothing is new";
  testing::SetMtu(nodes[1], 0, 9000);
  Put(nodes[1]);
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(last_.gone, ElementsAre(id));
  EXPECT_EQ(last_.counts.fail(), 0U);
}

TEST_F(EngineTest, ANodeThatIsLostTakesItsFindingsAndItsVoteAway) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::SetMtu(nodes[2], 0, 1500);
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n3/mlx5_0/1"));
  engine_.Remove("n1");
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail rail 0")) << "one against one";
  EXPECT_EQ(last_.gone.size(), 1U);
  engine_.Remove("n3");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(last_.gone.size(), 1U);
  engine_.Remove("n3");
  engine_.Remove("never heard of");
  engine_.Remove("n2");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(last_.counts.pass(), 0U);
}

// A majority of the nodes that still report is none of all.
TEST_F(EngineTest, ALostNodeStillVotesForTheSubnetOfItsRail) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetAddress(nodes[2], 0, "10.20.0.103");
  testing::SetAddress(nodes[3], 0, "10.20.0.104");
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(), IsEmpty()) << "two against two";
  engine_.PutUnjudged(records_["n4"]);
  EXPECT_THAT(Found(), ::testing::Each(HasSubstr("node_connected"))) << "one of them is lost";
  testing::SetAddress(nodes[2], 0, "10.10.0.103");
  Put(nodes[2]);
  EXPECT_THAT(Found(), IsEmpty()) << "the lost node is not judged";
  Put(nodes[3]);
  EXPECT_THAT(Found(), ElementsAre("rail_subnet_equal n4/rxe0/1"));
}

TEST_F(EngineTest, EqualCardsOfANodeAreComparedWhileItIsAlone) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 8});
  testing::SetMtu(node, 5, 1500);
  Put(node);
  EXPECT_THAT(Found(),
              ElementsAre("rdma_mtu_of_fast_link n1/mlx5_5/1", "mtu_equal_in_node n1/mlx5_5/1"));
  Put(testing::RoceNode({.number = 2, .rails = 8}));
  Put(testing::RoceNode({.number = 3, .rails = 8}));
  EXPECT_THAT(Found(), ElementsAre("mtu_equal_on_rail n1/mlx5_5/1"));
  EXPECT_EQ(last_.gone.size(), 2U);
}

TEST_F(EngineTest, OperatorsRulesAreNodeRules) {
  engine_.AddNodeRule({.id = "named_n2",
                       .severity = v1::SEVERITY_INFO,
                       .evaluate = [](const fleet::NodeView& node, Verdicts& out) {
                         if (node.node->name != "n2") return out.Pass();
                         v1::Finding finding;
                         finding.set_verdict(v1::VERDICT_FAIL);
                         finding.mutable_subject()->set_scope(v1::SCOPE_NODE);
                         finding.mutable_subject()->set_node(node.node->name);
                         out.Add(std::move(finding));
                       }});
  const std::uint64_t passes = Judge(Nodes(2, testing::RoceNode)).counts.pass();
  for (const auto& node : Nodes(2, testing::RoceNode)) Put(node);
  EXPECT_THAT(Found(), ElementsAre("named_n2 n2"));
  EXPECT_EQ(last_.found[0].severity(), v1::SEVERITY_INFO);
  EXPECT_EQ(last_.counts.pass(), passes + 1);
}

TEST_F(EngineTest, WindowsOfCountersAreJudgedWithoutTheSettings) {
  testing::Pair pair = testing::PairOf({testing::RoceNode({.number = 1, .rails = 2})});
  testing::Count(pair, 0, 1, "icrc_errors", 1000);
  fleet::NodeRecord record = {.name = "n1", .snapshot = pair.before[0], .version = 1};
  engine_.Put(record);
  EXPECT_THAT(Found(), IsEmpty());
  const std::uint64_t passes = last_.counts.pass();
  *record.snapshot.mutable_counters() = pair.after[0].counters();
  record.rates = fleet::CounterRates::Between(pair.before[0], pair.after[0]);
  engine_.Put(record);
  EXPECT_THAT(Found(), ElementsAre("roce_packets_intact n1/mlx5_1/1"));
  EXPECT_GT(last_.counts.pass(), passes);
  testing::SetMtu(record.snapshot, 0, 1500);
  testing::SetMtu(record.snapshot, 1, 4000);
  record.version = 2;
  record.rates.Clear();
  engine_.Put(record);
  EXPECT_THAT(Found(), ::testing::Not(::testing::Contains(::testing::HasSubstr("intact"))));
  EXPECT_EQ(last_.gone.size(), 1U);
}

// Two nodes with the same two cables crossed are one kind of node; what is said of each is its own.
TEST_F(EngineTest, NodesThatAreCabledAlikeHaveFindingsOfTheirOwn) {
  auto nodes = Nodes(6, testing::RoceNode, {.rails = 2});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::uint32_t rail : {0U, 1U})
      testing::Hear(nodes[i], rail, Format("leaf{}", i < 4 ? rail : 1 - rail), Format("swp{}", i));
  for (const auto& node : nodes) Put(node);
  EXPECT_THAT(Found(),
              UnorderedElementsAre("rail_on_expected_leaf n5", "rail_on_expected_leaf n6"));
  nodes[4].mutable_lldp_neighbors(0)->set_port_id("Ethernet4");
  Put(nodes[4]);
  EXPECT_THAT(Found(), ElementsAre("rail_on_expected_leaf n5"));
  EXPECT_THAT(last_.found[0].title(), HasSubstr("Ethernet4"));
  nodes[4].mutable_lldp_neighbors()->Clear();
  Put(nodes[4]);
  EXPECT_THAT(Found(), ElementsAre("rail_on_expected_leaf n6")) << "one of five, no more of six";
  EXPECT_THAT(last_.gone, SizeIs(1));
  engine_.Remove("n6");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_THAT(last_.gone, SizeIs(1));
}

TEST(Share, OfLargeFleetsReadsTheSameWhenOneMoreJoins) {
  EXPECT_EQ(Share(15, 16), "15 of 16");
  EXPECT_EQ(Share(98, 99), "98 of 99");
  EXPECT_EQ(Share(99, 100), "99 % of 100+");
  EXPECT_EQ(Share(16220, 16384), "98 % of 16000+");
  EXPECT_EQ(ShareKey(16220, 16384), ShareKey(16221, 16385));
  EXPECT_NE(ShareKey(15, 16), ShareKey(16, 17));
}

// A neighbor that changes its chassis id with each frame must not fill the memory.
TEST(LldpComparison, ForgetsSwitchesWithoutLinks) {
  NodeIndex nodes;
  FindingTable findings;
  LldpComparison comparison(nodes, findings);
  const profile::Profile profile;
  fleet::ExpectationTable expectations;
  fleet::NodeRecord record{.name = "n1", .snapshot = testing::RoceNode({})};
  testing::Hear(record.snapshot, 0, "leaf0", "swp1");
  std::vector<fleet::NodeRecord> records = {record};
  fleet::AssignRails(records);
  const std::uint32_t number = nodes.Add("n1");
  for (int i = 0; i < 100; ++i) {
    records[0].snapshot.mutable_lldp_neighbors(0)->set_chassis_id(Format("chassis {}", i));
    fleet::Fill(nodes.View(number), records[0], profile, expectations);
    comparison.Put(number);
    EXPECT_EQ(comparison.switches(), 1U);
  }
  comparison.Remove(number);
  EXPECT_EQ(comparison.switches(), 0U);
}

}  // namespace
}  // namespace fabric::rules
