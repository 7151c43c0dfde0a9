// A fleet that is large for one thread: what must not grow with the number of nodes does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;
using ::testing::IsEmpty;

constexpr std::uint32_t kNodes = 400;
constexpr std::uint64_t kSeed = 7;

std::uint32_t CountConnected(ControlWorld& world) {
  v1::ListNodesResponse response;
  EXPECT_TRUE(world.controller->Call(v1::ListNodesRequest(), response, world.agents.now()).ok());
  return static_cast<std::uint32_t>(
      std::count_if(response.nodes().begin(), response.nodes().end(),
                    [](const auto& node) { return node.state() == v1::NODE_STATE_CONNECTED; }));
}

TEST(FleetSim, HalfOfTheFleetFallsSilentAndWakes) {
  ControlWorld world;
  world.ConnectNodes(kNodes);
  world.log.events.clear();
  for (std::uint32_t n = 1; n <= kNodes / 2; ++n) world.agents.Mute(Format("n{}", n), true);
  world.agents.Advance(4s);
  EXPECT_EQ(CountConnected(world), kNodes / 2);
  EXPECT_EQ(world.log.events.size(), kNodes) << "each lost node and its finding, nothing else";
  for (std::uint32_t n = 1; n <= kNodes / 2; ++n) world.agents.Mute(Format("n{}", n), false);
  world.agents.Advance(1s);
  EXPECT_EQ(CountConnected(world), kNodes);
  EXPECT_EQ(world.agents.snapshot_requests(), kNodes / 2);
  EXPECT_EQ(world.log.events.size(), 2 * kNodes);
}

// Rules compare nodes. As long as a part of the fleet is missing after a restart, the rest must not
// be judged by it: here the first half of those that come back are the odd ones out.
TEST(FleetSim, ARestartInventsAndForgetsNoFinding) {
  SCOPED_TRACE(Format("seed {}", kSeed));
  ControlWorld world;
  world.ConnectNodes(kNodes);
  std::vector<v1::NodeSnapshot> nodes = testing::Nodes(kNodes, testing::RoceNode);
  testing::SetMtu(nodes[3], 0, 1500);
  ASSERT_TRUE(world.agents.SendSnapshot(nodes[3]).ok());
  world.agents.Advance(500ms);
  const std::vector<std::string> before = world.OpenFindings();
  EXPECT_FALSE(before.empty());

  world.Restart();
  world.log.events.clear();
  std::mt19937_64 random(kSeed);
  std::shuffle(nodes.begin(), nodes.end(), random);
  for (const v1::NodeSnapshot& node : nodes) {
    ASSERT_TRUE(world.agents.Connect(node).ok());
    if (random() % 40 == 0) world.agents.Advance(100ms);
  }
  world.agents.Advance(1s);
  EXPECT_EQ(CountConnected(world), kNodes);
  EXPECT_EQ(world.OpenFindings(), before);
  for (const v1::Event& event : world.log.events) EXPECT_TRUE(event.has_node());
}

TEST(FleetSim, ACampaignOverAHundredPortsKeepsItsBounds) {
  ControlWorld world({.pairs_at_once_max = 20});
  world.ConnectNodes(50);
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  EXPECT_EQ(campaign.probes_ok(), 50u * 49 / 2 * 2 * 2);
  EXPECT_LE(world.agents.probes_at_once_max(), 20u);
  EXPECT_THAT(world.agents.violations(), IsEmpty());
}

}  // namespace
}  // namespace fabric::control
