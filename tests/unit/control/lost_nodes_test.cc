// Lost nodes as findings, findings about several nodes, and the removal of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "proto/timestamps.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RoceNode;
using ::testing::UnorderedElementsAre;

class LostNodesTest : public ::testing::Test {
 protected:
  LostNodesTest() {
    world_.ConnectNodes(3);
    world_.agents.Advance(1s);
  }

  void Lose(const std::string& node) {
    world_.agents.Disconnect(node, "reset by peer");
    world_.agents.Advance(1s);
  }
  void SameAddress() {
    v1::NodeSnapshot node = RoceNode({.number = 2});
    testing::SetAddress(node, 0, "10.10.0.1");
    ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
    world_.agents.Advance(300ms);
  }
  std::vector<std::string> RulesOn(const std::string& node) {
    v1::ListFindingsRequest request;
    request.set_node(node);
    v1::ListFindingsResponse response;
    EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
    std::vector<std::string> rules;
    for (const v1::Finding& finding : response.findings())
      rules.push_back(finding.rule() + (finding.expired_reason().empty() ? "" : " expired") +
                      (finding.has_silenced() ? " silenced" : ""));
    return rules;
  }
  v1::ValidateResponse Validate() {
    v1::ValidateResponse response;
    EXPECT_TRUE(world_.controller->Call(v1::ValidateRequest(), response, world_.agents.now()).ok());
    return response;
  }
  Status Remove(const std::string& node) {
    v1::DeleteNodeRequest request;
    request.set_name(node);
    request.set_author("ada");
    v1::NodeSummary removed;
    return world_.controller->Call(request, removed, world_.agents.now());
  }
  void Silence(const std::string& node, const std::string& rule) {
    v1::CreateSilenceRequest request;
    request.mutable_silence()->set_node(node);
    request.mutable_silence()->set_rule(rule);
    request.mutable_silence()->set_author("bob");
    request.mutable_silence()->set_reason("maintenance");
    request.set_duration_seconds(60);
    v1::Silence silence;
    const Status status = world_.controller->Call(request, silence, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
  }

  testing::ControlWorld world_;
};

TEST_F(LostNodesTest, ALostNodeIsAFindingUntilItIsBack) {
  Lose("n1");
  EXPECT_THAT(RulesOn("n1"), ElementsAre("node_connected"));
  EXPECT_EQ(world_.Node("n1").findings_open(), 1u);
  EXPECT_FALSE(world_.Node("n1").has_ports_active());
  const v1::ValidateResponse response = Validate();
  EXPECT_EQ(response.counts().fail(), 1u);
  EXPECT_EQ(response.nodes(), 2u);
  ASSERT_EQ(response.not_judged_size(), 1);
  EXPECT_EQ(response.not_judged(0).name(), "n1");
  EXPECT_THAT(response.not_judged(0).reason(), HasSubstr("lost since 2027-"));
  EXPECT_EQ(world_.log.events.back().finding().rule(), "node_connected");
  ASSERT_TRUE(world_.agents.Connect(RoceNode({.number = 1})).ok());
  world_.agents.Advance(300ms);
  EXPECT_THAT(RulesOn("n1"), IsEmpty());
  EXPECT_EQ(world_.Node("n1").ports_active(), 2u);
}

TEST_F(LostNodesTest, ALostNodeIsSilencedLikeOthers) {
  Lose("n1");
  Silence("n1", "node_connected");
  EXPECT_THAT(RulesOn("n1"), ElementsAre("node_connected silenced"));
}

TEST_F(LostNodesTest, ANodeThatJustBootedIsLostAtOnce) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  *node.mutable_taken_at() = ToProto(world_.agents.now().wall);
  *node.mutable_host()->mutable_booted_at() = ToProto(world_.agents.now().wall);
  ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
  world_.agents.Advance(300ms);
  Lose("n1");
  EXPECT_THAT(RulesOn("n1"), ElementsAre("node_connected"));
}

TEST_F(LostNodesTest, AfterARestartOnlyNodesThatStayAwayAreLost) {
  world_.Restart();
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  EXPECT_EQ(Validate().counts().fail(), 0u) << "they are awaited";
  for (const std::uint32_t n : {1U, 2U})
    ASSERT_TRUE(world_.agents.Connect(RoceNode({.number = n})).ok());
  world_.agents.Advance(4s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("node_connected n3"));
}

TEST_F(LostNodesTest, AFindingAboutTwoNodesIsShownWithBoth) {
  SameAddress();
  for (const char* node : {"n1", "n2"}) {
    EXPECT_THAT(RulesOn(node), ::testing::Contains("duplicate_gid")) << node;
    EXPECT_EQ(world_.Node(node).findings_open(), RulesOn(node).size());
  }
  EXPECT_THAT(RulesOn("n3"), IsEmpty());
}

TEST_F(LostNodesTest, AFindingAboutTwoNodesIsSilencedWhenBothAre) {
  SameAddress();
  Silence("n1", "");
  EXPECT_THAT(RulesOn("n1"), ::testing::Contains("duplicate_gid"));
  Silence("n2", "duplicate_gid");
  EXPECT_THAT(RulesOn("n1"), ::testing::Contains("duplicate_gid silenced"));
}

TEST_F(LostNodesTest, AFindingAboutALostNodeAndAnotherExpires) {
  SameAddress();
  Lose("n1");
  EXPECT_THAT(RulesOn("n2"), ::testing::Contains("duplicate_gid expired"));
}

TEST_F(LostNodesTest, ALostNodeIsRemovedWithItsFindings) {
  v1::NodeSnapshot node = RoceNode({.number = 1});
  testing::SetMtu(node, 0, 1500);
  ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
  world_.agents.Advance(300ms);
  const Status refused = Remove("n1");
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("node n1 is connected"));
  Lose("n1");
  EXPECT_THAT(world_.OpenFindings(),
              UnorderedElementsAre("mtu_equal_on_rail n1/mlx5_0/1", "node_connected n1"));
  ASSERT_TRUE(Remove("n1").ok());
  EXPECT_EQ(world_.log.events.back().node().state(), v1::NODE_STATE_REMOVED);
  EXPECT_EQ(world_.log.events.back().node().lost_reason(), "removed by ada");
  world_.agents.Advance(300ms);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  EXPECT_THAT(Remove("n1").message(), HasSubstr("unknown node 'n1'"));
  world_.Restart();
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(world_.controller->Call(v1::ListNodesRequest(), nodes, world_.agents.now()).ok());
  EXPECT_EQ(nodes.nodes_size(), 2);
}

TEST_F(LostNodesTest, ARemovedNodeThatReportsIsBack) {
  world_.agents.Mute("n1", true);
  world_.agents.Advance(4s);
  ASSERT_TRUE(Remove("n1").ok());
  world_.agents.Mute("n1", false);
  world_.agents.Advance(2s);
  ASSERT_TRUE(world_.agents.SendSnapshot(RoceNode({.number = 1})).ok());
  world_.agents.Advance(300ms);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST(NodeExpiry, ALostNodeIsRemovedAfterTheTimeAndAConnectedOneIsNot) {
  testing::ControlWorld world({.node_expiry = 2h});
  world.ConnectNodes(3);
  world.agents.Disconnect("n1", "power");
  world.agents.Advance(2h - 2s);
  EXPECT_EQ(world.Node("n1").state(), v1::NODE_STATE_LOST);
  world.agents.Advance(4s);
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(world.controller->Call(v1::ListNodesRequest(), nodes, world.agents.now()).ok());
  EXPECT_EQ(nodes.nodes_size(), 2);
  EXPECT_THAT(world.OpenFindings(), IsEmpty());
  std::vector<std::string> removed;
  for (const v1::Event& event : world.log.events)
    if (event.node().state() == v1::NODE_STATE_REMOVED)
      removed.push_back(event.node().name() + " " + event.node().lost_reason());
  EXPECT_THAT(removed, ElementsAre("n1 expired: lost for more than 2 h"));
  world.Restart();
  EXPECT_EQ(world.controller->Numbers().nodes.size(), 2u) << "the state file has forgotten it too";
}

TEST(NodeExpiry, IsOffByDefaultAndWaitsForTheDisk) {
  testing::ControlWorld never;
  never.ConnectNodes(2);
  never.agents.Disconnect("n1", "power");
  never.agents.Advance(24h);
  EXPECT_EQ(never.Node("n1").state(), v1::NODE_STATE_LOST);
  testing::ControlWorld world({.node_expiry = 1h});
  world.ConnectNodes(2);
  world.agents.Disconnect("n1", "power");
  world.store->failure = {Code::kUnavailable, "disk full"};
  world.agents.Advance(2h);
  EXPECT_EQ(world.Node("n1").state(), v1::NODE_STATE_LOST);
  world.store->failure = {};
  world.agents.Advance(2s);
  EXPECT_FALSE(world.controller->Numbers().nodes.contains("n1"));
}

}  // namespace
}  // namespace fabric::control
