// The controller's part of the mesh, with agents that are written down here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

#include "base/text.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/mesh_world.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;

class MeshTest : public MeshWorld {};

class MeshOffTest : public MeshWorld {
 protected:
  MeshOffTest() : MeshWorld({.mesh = {.on = false}}) {}
};

TEST_F(MeshOffTest, OrdersNothingAndSaysWhy) {
  Connect(3);
  world.agents.Advance(20s);
  EXPECT_FALSE(Status().enabled());
  EXPECT_THAT(Status().reason(), HasSubstr("--mesh on"));
  EXPECT_EQ(world.agents.mesh_orders("n1"), 0u);
  TellEndpoints("n1", 100);  // It is at it still, for an earlier run of the controller.
  world.agents.Advance(100ms);
  EXPECT_EQ(world.agents.mesh_orders("n1"), 1u);
  EXPECT_TRUE(world.agents.mesh_assignment("n1").ports().empty());
}

TEST_F(MeshTest, AsksForAddressesAndThenOrdersPings) {
  Connect(3);
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports_size(), 2);
  EXPECT_TRUE(world.agents.mesh_assignment("n1").ports(0).targets().empty())
      << "no other node is known";
  EXPECT_THAT(NotCovered(), Contains("n1/mlx5_0/1: the agent has not joined the mesh"));
  AllTellEndpoints(3);
  const v1::MeshAssignment order = world.agents.mesh_assignment("n2");
  ASSERT_EQ(order.ports_size(), 2);
  ASSERT_EQ(order.ports(0).targets_size(), 2);
  EXPECT_EQ(order.ports(0).targets(0).endpoint().queue_pair_number(), 300u);
  EXPECT_EQ(order.ports(1).targets(0).endpoint().queue_pair_number(), 301u) << "of its own rail";
  EXPECT_LE(order.pings_per_second(), 100u);
  EXPECT_GT(order.number(), 0u);
  EXPECT_TRUE(NotCovered().empty());
  EXPECT_EQ(Status().ports(), 6u);
  EXPECT_EQ(Status().flow_labels_per_leaf_pair(), 21u);

  const std::uint32_t orders = world.agents.mesh_orders("n2");
  AllTellEndpoints(3);
  EXPECT_EQ(world.agents.mesh_orders("n2"), orders) << "nothing has changed";
}

TEST_F(MeshTest, AnAgentThatKnowsNothingOfItIsLeftOutAndTheOthersGoOn) {
  Connect(3);
  AllTellEndpoints(2);
  EXPECT_EQ(Status().ports(), 4u);
  EXPECT_THAT(NotCovered(), Contains("n3/mlx5_1/1: the agent has not joined the mesh"));
}

TEST_F(MeshTest, APortThatIsNotActiveIsLeftOutWithItsReason) {
  Connect(3);
  AllTellEndpoints(3);
  v1::NodeSnapshot node = testing::RoceNode({.number = 2});
  testing::LinkDown(node, 0);
  ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  world.agents.Advance(12s);
  EXPECT_THAT(NotCovered(), Contains(HasSubstr("n2/mlx5_0/1: port is DOWN")));
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports(0).targets_size(), 1) << "n3 alone";
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports(1).targets_size(), 2);
}

TEST_F(MeshTest, SumsWindowsAndAccusesNobodyInAHealthyFabric) {
  Connect(4);
  AllTellEndpoints(4);
  PassWindows(4, 3);
  const v1::MeshStatus status = Status();
  ASSERT_EQ(status.leaf_pairs_size(), 2) << "one unknown leaf on each rail";
  EXPECT_EQ(status.leaf_pairs(0).port_pairs(), 12u);
  EXPECT_EQ(status.leaf_pairs(0).sent(), 3600u);
  EXPECT_EQ(status.leaf_pairs(0).lost(), 0u);
  EXPECT_EQ(status.leaf_pairs(0).median_us(), 7);
  EXPECT_EQ(status.windows(), 12u);
  EXPECT_EQ(status.pings_per_second(), 80);
  EXPECT_EQ(status.blame().suspects_size(), 0);
  EXPECT_EQ(status.blame().state(), v1::BLAME_STATE_HEALTHY);
}

TEST_F(MeshTest, NamesThePortThatLosesPings) {
  Connect(6);
  AllTellEndpoints(6);
  PassWindows(6, 4, "n3", 20);
  const v1::MeshStatus status = Status();
  EXPECT_GT(status.leaf_pairs(0).lost(), 100u);
  EXPECT_EQ(status.leaf_pairs(1).lost(), 0u);
  ASSERT_EQ(status.blame().suspects_size(), 1);
  EXPECT_EQ(status.blame().suspects(0).name(), "n3/mlx5_0/1");
}

TEST_F(MeshTest, WhatItNamesIsAFindingUntilPingsArrive) {
  Connect(6);
  AllTellEndpoints(6);
  EXPECT_EQ(world.agents.mesh_assignment("n1").traffic_class() >> 2, 26u) << "the class of jobs";
  PassWindows(6, 4, "n3", 20);
  EXPECT_THAT(world.OpenFindings(), Contains("probe_blame n3/mlx5_0/1"));
  PassWindows(6, 40);
  EXPECT_THAT(world.OpenFindings(), ::testing::Not(Contains("probe_blame n3/mlx5_0/1")));
}

TEST_F(MeshTest, AnAgentThatEndsIsNoLossOfTheNetworks) {
  Connect(6);
  AllTellEndpoints(6);
  PassWindows(6, 1);
  // Its queue pairs went with it; who pinged it tells of losses before the controller knows.
  for (const char* node : {"n1", "n2", "n4", "n5", "n6"})
    ASSERT_TRUE(world.agents.Say(node, WindowOf(node, "n3", 100)).ok());
  world.agents.Disconnect("n3", "killed");
  world.agents.Advance(30s);
  EXPECT_EQ(Status().leaf_pairs(0).lost(), 0u);
  EXPECT_EQ(Status().blame().suspects_size(), 0);
  EXPECT_EQ(Status().ports(), 10u);
  EXPECT_EQ(world.agents.mesh_assignment("n2").ports(0).targets(0).remote().node(), "n4");
}

TEST_F(MeshTest, PingsToWhereAnAgentWasBeforeItsRestartDoNotCount) {
  Connect(3);
  AllTellEndpoints(3);
  PassWindows(3, 1);
  TellEndpoints("n3", 900);
  world.agents.Advance(11s);
  v1::AgentMessage old = WindowOf("n1", "n3", 100);  // Began after the restart
  old.mutable_mesh_window()->set_assignment(old.mesh_window().assignment() - 100);
  ASSERT_TRUE(world.agents.Say("n1", old).ok());
  world.agents.Advance(20s);
  EXPECT_EQ(Status().leaf_pairs(0).lost(), 0u);
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports(0).targets(1).endpoint().queue_pair_number(),
            900u);
  ASSERT_TRUE(world.agents.Say("n1", WindowOf("n1", "n3", 100)).ok());
  world.agents.Advance(20s);
  EXPECT_EQ(Status().leaf_pairs(0).lost(), 100u) << "those of the new order do";
}

TEST_F(MeshTest, KeepsTheNewestWindowsAlone) {
  Connect(3);
  AllTellEndpoints(3);
  PassWindows(3, 2, "n3", 50);
  EXPECT_GT(Status().leaf_pairs(0).lost(), 0u);
  PassWindows(3, 6);
  EXPECT_EQ(Status().leaf_pairs(0).lost(), 0u) << "what was mended is forgotten";
  EXPECT_EQ(Status().leaf_pairs(0).sent(), 6u * 6 * 100);
}

TEST_F(MeshTest, WhatCannotBeIsNotTaken) {
  Connect(3);
  AllTellEndpoints(3);
  const auto spoilt = [&](auto spoil) {
    v1::AgentMessage message = WindowOf("n1", "", 0);
    for (v1::MeshPath& path : *message.mutable_mesh_window()->mutable_paths()) spoil(path);
    ASSERT_TRUE(world.agents.Say("n1", message).ok());
  };
  spoilt([](v1::MeshPath& path) { path.mutable_ping()->set_lost(101); });
  spoilt([](v1::MeshPath& path) { path.mutable_ping()->mutable_flows(0)->set_lost(101); });
  spoilt([](v1::MeshPath& path) { path.mutable_from()->set_node("n2"); });
  spoilt([](v1::MeshPath& path) { path.mutable_to()->set_device("mlx5_9"); });
  spoilt([](v1::MeshPath& path) {
    path.mutable_ping()->mutable_network_round_trip()->set_median_us(
        std::numeric_limits<double>::quiet_NaN());
  });
  v1::AgentMessage message = WindowOf("n1", "", 0);
  message.mutable_mesh_window()->mutable_started_at()->set_seconds(
      std::numeric_limits<std::int64_t>::max());
  message.mutable_mesh_window()->clear_paths();
  ASSERT_TRUE(world.agents.Say("n1", message).ok());
  v1::AgentMessage foreign;
  v1::MeshEndpoint& endpoint = *foreign.mutable_mesh_endpoints()->add_endpoints();
  *endpoint.mutable_port() = MeshPortOf("n2", 0);
  endpoint.mutable_endpoint()->set_queue_pair_number(666);
  ASSERT_TRUE(world.agents.Say("n1", foreign).ok());
  world.agents.Advance(30s);
  const v1::MeshStatus status = Status();
  for (const v1::MeshLeafPair& pair : status.leaf_pairs()) EXPECT_EQ(pair.sent(), 0u);
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports(0).targets(0).endpoint().queue_pair_number(),
            200u)
      << "nobody speaks for another node";
}

TEST_F(MeshTest, ARemovedNodeLeavesNoEndpoints) {
  Connect(3);
  AllTellEndpoints(3);
  v1::AgentMessage forged;
  for (std::uint32_t n = 0; n < 1024; ++n)
    *forged.mutable_mesh_endpoints()->add_endpoints()->mutable_port() = MeshPortOf("n4", 100 + n);
  ASSERT_TRUE(world.agents.Connect(testing::RoceNode({.number = 4})).ok());
  world.agents.Advance(2s);
  ASSERT_TRUE(world.agents.Say("n4", forged).ok());
  world.agents.Disconnect("n4", "powered off");
  world.agents.Advance(10s);
  v1::DeleteNodeRequest request;
  request.set_name("n4");
  v1::NodeSummary removed;
  const fabric::Status deleted = world.controller->Call(request, removed, world.agents.now());
  ASSERT_TRUE(deleted.ok()) << deleted.message();
  ASSERT_TRUE(world.agents.Connect(testing::RoceNode({.number = 4})).ok());
  world.agents.Advance(2s);
  TellEndpoints("n4", 400);
  world.agents.Advance(30s);
  EXPECT_THAT(NotCovered(), ::testing::IsEmpty());
  EXPECT_EQ(Status().ports(), 8u);
}

TEST_F(MeshTest, ARestartedControllerOrdersAnew) {
  Connect(3);
  AllTellEndpoints(3);
  const std::uint64_t before = world.agents.mesh_assignment("n1").number();
  world.Restart();
  Connect(3);
  AllTellEndpoints(3);
  EXPECT_GT(world.agents.mesh_assignment("n1").number(), before) << "numbers rise over a restart";
  EXPECT_EQ(world.agents.mesh_assignment("n1").ports(0).targets_size(), 2);
}

}  // namespace
}  // namespace fabric::control
