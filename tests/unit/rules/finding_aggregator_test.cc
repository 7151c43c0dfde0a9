#include "daemon/rules/causes/finding_aggregator.h"

#include <gmock/gmock.h>

#include "daemon/fleet/fleet.h"
#include "daemon/rules/engine/engine.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FindingAggregatorTest : public ::testing::Test {
 protected:
  // Tells the engine of all nodes as they are now.
  void Judge() {
    for (const v1::NodeSnapshot& node : nodes) engine.Put(fleet.Put(node, {}));
    findings.clear();
    for (v1::Finding& finding : engine.All().findings) {
      const std::string id = finding.id();
      findings[id] = std::move(finding);
    }
  }

  // Titles of what no other finding explains.
  std::vector<std::string> Causes() const {
    std::vector<std::string> causes;
    for (const auto& [id, finding] : findings)
      if (finding.verdict() == v1::VERDICT_FAIL && finding.explained_by().empty())
        causes.push_back(finding.title());
    return causes;
  }
  const v1::Finding& Cause() const {
    for (const auto& [id, finding] : findings)
      if (!finding.explains().empty()) return finding;
    static const v1::Finding none;
    return none;
  }
  void ConnectTo(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& name) {
    v1::LldpNeighbor& neighbor = *node.add_lldp_neighbors();
    neighbor.set_netdev(testing::NetdevOf(node, rail).name());
    neighbor.set_system_name(name);
  }

  std::vector<v1::NodeSnapshot> nodes = testing::Nodes(5, testing::RoceNode);
  fleet::Fleet fleet;
  Engine engine;
  std::map<std::string, v1::Finding> findings;
};

TEST_F(FindingAggregatorTest, HealthyNodesHaveNothingInCommon) {
  Judge();
  EXPECT_THAT(Causes(), IsEmpty());
  EXPECT_THAT(Cause().explains(), IsEmpty());
}

TEST_F(FindingAggregatorTest, OnePortIsItsOwnCause) {
  testing::SetMtu(nodes[1], 0, 1500);
  Judge();
  EXPECT_THAT(Causes(), SizeIs(1));
  EXPECT_THAT(Cause().explains(), IsEmpty());
}

TEST_F(FindingAggregatorTest, AllPortsOfANodeAreOneFindingOfTheNode) {
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  Judge();
  EXPECT_THAT(Causes(), ElementsAre("netdev MTU 1500, expected 9000, on all 2 ports"));
  const v1::Finding& cause = Cause();
  EXPECT_EQ(cause.subject().scope(), v1::SCOPE_NODE);
  EXPECT_EQ(cause.subject().node(), "n2");
  EXPECT_EQ(cause.rule(), "mtu_equal_on_rail");
  EXPECT_EQ(cause.severity(), findings.at(cause.explains(0)).severity());
  ASSERT_THAT(cause.explains(), SizeIs(2));
  for (const std::string& id : cause.explains())
    EXPECT_EQ(findings.at(id).explained_by(), cause.id());
  EXPECT_EQ(findings.at(cause.explains(0)).subject().rail(), 0U) << "in the order of the rails";
  EXPECT_EQ(cause.evidence(cause.evidence_size() - 1).seen(), "n2/mlx5_0/1, n2/mlx5_1/1");
  EXPECT_EQ(cause.remedies(0).command(), findings.at(cause.explains(0)).remedies(0).command());
  EXPECT_EQ(cause.remedies_size(), 2 * findings.at(cause.explains(0)).remedies_size());
}

TEST_F(FindingAggregatorTest, ACauseThatIsMendedInPartIsNone) {
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  Judge();
  testing::SetMtu(nodes[1], 0, 9000);
  Judge();
  EXPECT_THAT(Cause().explains(), IsEmpty());
  EXPECT_THAT(Causes(), SizeIs(1));
  for (const auto& [id, finding] : findings) EXPECT_EQ(finding.explained_by(), "");
}

TEST_F(FindingAggregatorTest, WhatIsNotTheSameOnBothPortsHasNoCommonCause) {
  testing::SetMtu(nodes[1], 0, 1500);
  testing::SetMtu(nodes[1], 1, 4200);
  Judge();
  EXPECT_THAT(Causes(), SizeIs(2));
}

TEST_F(FindingAggregatorTest, APortThatIsDownIsNotWaitedFor) {
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  nodes = testing::Nodes(5, testing::RoceNode, {.rails = 3});
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  testing::LinkDown(nodes[1], 2);
  Judge();
  EXPECT_EQ(Cause().explains_size(), 2);
}

TEST_F(FindingAggregatorTest, NobodyIsBlamedOnEveryRailOnce) {
  nodes.pop_back();
  for (const int node : {0, 1})
    for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[node], rail, 1500);
  Judge();
  ASSERT_THAT(Causes(), SizeIs(1));
  EXPECT_EQ(Cause().subject().scope(), v1::SCOPE_FLEET);
  EXPECT_EQ(Cause().explains_size(), 2) << "the findings of two rails";
  EXPECT_THAT(Cause().title(), ::testing::EndsWith(", on all 2 rails"));
}

TEST_F(FindingAggregatorTest, WhatEveryNodeHasIsOfTheFleet) {
  for (v1::NodeSnapshot& node : nodes) testing::UnloadPeermem(node);
  Judge();
  ASSERT_THAT(Causes(), SizeIs(1));
  EXPECT_EQ(Cause().subject().scope(), v1::SCOPE_FLEET);
  EXPECT_EQ(Cause().explains_size(), 5);
  testing::NodeOptions options{.number = 6};
  nodes.push_back(testing::RoceNode(options));
  Judge();
  EXPECT_EQ(Cause().explains_size(), 0) << "a sixth node is well";
}

TEST_F(FindingAggregatorTest, AllPortsBehindASwitchAreOneFindingOfTheSwitch) {
  nodes = testing::Nodes(8, testing::RoceNode);
  for (int i = 0; i < 8; ++i) {
    ConnectTo(nodes[i], 0, i < 3 ? "leaf1" : "leaf2");
    if (i < 3) testing::SetMtu(nodes[i], 0, 1500);
  }
  Judge();
  ASSERT_THAT(Causes(),
              ElementsAre("netdev MTU 1500, expected 9000 (5 of 8 nodes on rail 0), on all 3 "
                          "ports behind leaf1"));
  EXPECT_EQ(Cause().subject().scope(), v1::SCOPE_SWITCH);
  EXPECT_EQ(Cause().subject().switch_name(), "leaf1");
}

TEST_F(FindingAggregatorTest, ACauseIsNewsWithAllThatItExplains) {
  Judge();
  engine.Take();
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 1500);
  Judge();
  const Delta opened = engine.Take();
  EXPECT_THAT(opened.found, SizeIs(3));
  EXPECT_EQ(opened.counts.fail(), 2U) << "a cause is no verdict of its own";
  for (const std::uint32_t rail : {0U, 1U}) testing::SetMtu(nodes[1], rail, 9000);
  Judge();
  const Delta mended = engine.Take();
  EXPECT_THAT(mended.found, IsEmpty());
  EXPECT_THAT(mended.gone, SizeIs(3));
}

// No finding of the first two ports comes or goes then.
TEST_F(FindingAggregatorTest, APortThatGoesDownOrComesBackChangesWhatAllAre) {
  nodes = testing::Nodes(5, testing::RoceNode, {.rails = 3});
  testing::SetMtu(nodes[1], 0, 1500);
  Judge();
  testing::SetMtu(nodes[1], 1, 1500);
  Judge();
  EXPECT_THAT(Cause().explains(), IsEmpty());
  const v1::NodeSnapshot up = nodes[1];
  testing::LinkDown(nodes[1], 2);
  Judge();
  EXPECT_EQ(Cause().explains_size(), 2);
  EXPECT_EQ(Cause().subject().scope(), v1::SCOPE_NODE);
  nodes[1] = up;
  Judge();
  EXPECT_THAT(Cause().explains(), IsEmpty());
}

TEST_F(FindingAggregatorTest, ANodeThatIsLostIsNotWaitedFor) {
  for (int i = 0; i < 4; ++i) testing::UnloadPeermem(nodes[i]);
  Judge();
  EXPECT_THAT(Cause().explains(), IsEmpty());
  engine.Remove("n5");
  nodes.pop_back();
  Judge();
  EXPECT_EQ(Cause().explains_size(), 4);
}

// An hour after a leaf died its LLDP neighbors have expired.
TEST_F(FindingAggregatorTest, ADeadSwitchIsOneFindingAfterItsNeighborsHaveExpired) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::uint32_t rail : {0U, 1U})
      ConnectTo(nodes[i], rail, i < 3 ? "leaf-1" : "leaf-2");
  Judge();
  EXPECT_THAT(Causes(), IsEmpty());
  for (std::size_t i = 0; i < 3; ++i) {
    nodes[i].clear_lldp_neighbors();
    for (const std::uint32_t rail : {0U, 1U}) testing::LinkDown(nodes[i], rail);
  }
  Judge();
  EXPECT_EQ(Cause().rule(), "port_active");
  EXPECT_EQ(Cause().subject().scope(), v1::SCOPE_SWITCH);
  EXPECT_EQ(Cause().subject().switch_name(), "leaf-1");
  EXPECT_THAT(Cause().explains(), SizeIs(6));
}

}  // namespace
}  // namespace fabric::rules
