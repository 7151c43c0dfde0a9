#include "daemon/control/fleet_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proto/bounds.h"
#include "tests/testing/control_world.h"
#include "tests/testing/full_count.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

TEST(Distribution, KeepsExtremesAndTheMedianWithinOnePercent) {
  Distribution values;
  EXPECT_EQ(values.Median(), 0);
  for (int n = 1; n <= 10'001; ++n) values.Add(n);
  values.Add(std::nan(""));
  values.Add(-1);
  values.Add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(values.count(), 10'001u);
  EXPECT_EQ(values.min(), 1);
  EXPECT_EQ(values.max(), 10'001);
  EXPECT_NEAR(values.Median(), 5'001, 51);
}

TEST(MeshNumbers, ListTheWorstPairsAndCountLeavesThatAreLeftOut) {
  std::vector<v1::MeshLeafPair> pairs;
  for (std::uint32_t n = 0; n < 3'000; ++n) {
    v1::MeshLeafPair& pair = pairs.emplace_back();
    pair.set_from_leaf("leaf" + std::to_string(n));
    pair.set_to_leaf(pair.from_leaf());
    pair.set_sent(10'000);
    pair.set_lost(n);
    pair.set_median_us(3'000 - n);
  }
  const MeshNumbers numbers = NumbersOf(pairs);
  EXPECT_EQ(numbers.rails.at(0).pings.sent, 30'000'000u);
  EXPECT_EQ(numbers.leaves.size(), MeshNumbers::kLeavesMax);
  EXPECT_EQ(numbers.leaves_omitted, 2'000u);
  ASSERT_EQ(numbers.worst_loss.size(), MeshNumbers::kWorstMax);
  EXPECT_EQ(numbers.worst_loss[0].from_leaf, "leaf2999");
  EXPECT_EQ(numbers.worst_loss[0].value, 0.2999);
  EXPECT_EQ(numbers.worst_loss[9].from_leaf, "leaf2990");
  EXPECT_EQ(numbers.worst_round_trip[0].from_leaf, "leaf0");
}

TEST(FleetNumbers, FollowTheFleetAndItsCampaigns) {
  testing::ControlWorld world;
  world.ConnectNodes(2);
  const v1::Campaign done = world.Finish(world.StartCampaign());
  world.agents.Advance(std::chrono::seconds(2));
  FleetNumbers numbers = world.controller->Numbers();
  EXPECT_EQ(numbers.nodes.size(), 2u);
  EXPECT_TRUE(numbers.nodes.at("n1").connected);
  EXPECT_EQ(numbers.ports.at(v1::PORT_STATE_ACTIVE), 4u);
  EXPECT_EQ(numbers.campaigns.at(v1::CAMPAIGN_STATE_DONE), 1u);
  EXPECT_EQ(numbers.probes_ok, done.probes_ok());
  EXPECT_GT(numbers.newest.at(0).latency_us.count(), 0u);
  EXPECT_GT(numbers.findings_open.size(), 50u) << "each rule, with 0";
  world.agents.Disconnect("n2", "power");
  world.agents.Advance(std::chrono::seconds(2));
  numbers = world.controller->Numbers();
  EXPECT_FALSE(numbers.nodes.at("n2").connected);
  EXPECT_EQ(numbers.ports.at(v1::PORT_STATE_ACTIVE), 2u);
}

TEST(FleetNumbers, CountRefusedMessagesByBoundAndCode) {
  testing::ControlWorld world;
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  for (int n = 0; n < 2; ++n)
    EXPECT_FALSE(world.controller->OnMessage(SessionId(9), heartbeat, world.agents.now()).ok());
  (void)world.controller->OnExcess(SessionId(9),
                                   {.bound = &BoundOf("agent_message_bytes"), .seen = 9 << 20},
                                   world.agents.now());
  const auto refused = world.controller->Numbers().refused;
  EXPECT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused.at("FAILED_PRECONDITION"), 2u);
  EXPECT_EQ(refused.at("agent_message_bytes"), 1u);
}

class NumbersTest : public ::testing::Test {
 protected:
  void Check(const char* when) {
    EXPECT_EQ(testing::DifferenceToFullCount(*world_.controller, world_.agents.now()), "") << when;
  }
  void Silence(const char* rule) {
    v1::CreateSilenceRequest request;
    request.mutable_silence()->set_rule(rule);
    request.mutable_silence()->set_author("sim");
    request.mutable_silence()->set_reason("test");
    request.set_duration_seconds(60);
    v1::Silence silence;
    const Status made = world_.controller->Call(request, silence, world_.agents.now());
    ASSERT_TRUE(made.ok()) << made.message();
  }
  void Remove(const char* node) {
    v1::DeleteNodeRequest request;
    request.set_name(node);
    v1::NodeSummary removed;
    ASSERT_TRUE(world_.controller->Call(request, removed, world_.agents.now()).ok());
  }

  testing::ControlWorld world_;
};

TEST_F(NumbersTest, EqualAFullCountAfterEachChange) {
  Check("empty");
  world_.ConnectNodes(4);
  Check("connected");
  v1::NodeSnapshot down = testing::RoceNode({.number = 1});
  testing::LinkDown(down, 0);
  ASSERT_TRUE(world_.agents.SendSnapshot(down).ok());
  Check("a port is down and not judged yet");
  world_.agents.Advance(std::chrono::seconds(1));
  EXPECT_EQ(world_.controller->Numbers().ports.at(v1::PORT_STATE_DOWN), 1u);
  EXPECT_EQ(world_.controller->Numbers().nodes.at("n1").findings.size(), 1u);
  EXPECT_EQ(world_.controller->Numbers().rails.at(0).states,
            (std::map<v1::PortState, std::uint64_t>{{v1::PORT_STATE_ACTIVE, 3},
                                                    {v1::PORT_STATE_DOWN, 1}}));
  Check("a finding is open");
  Silence("port_active");
  EXPECT_EQ(world_.controller->Numbers().nodes.at("n1").findings.size(), 0u);
  Check("it is silenced");
  world_.agents.Advance(std::chrono::seconds(62));
  EXPECT_EQ(world_.controller->Numbers().findings_silenced.size(), 0u);
  Check("the silence has expired");
  world_.agents.Disconnect("n1", "power");
  world_.agents.Advance(std::chrono::seconds(2));
  Check("the node is lost");
  world_.Restart();
  Check("the controller was restarted");
  world_.agents.Advance(std::chrono::seconds(10));
  Check("and judges again");
  Remove("n1");
  world_.agents.Advance(std::chrono::seconds(2));
  EXPECT_FALSE(world_.controller->Numbers().nodes.contains("n1"));
  Check("the node is removed");
}

}  // namespace
}  // namespace fabric::control
