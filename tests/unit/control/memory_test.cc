// What the controller knows of nodes from the time before it restarted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "daemon/control/controller.h"
#include "tests/testing/control_world.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::ControlWorld;
using ::testing::Not;

class MemoryTest : public ::testing::Test {
 protected:
  void ConnectAll() {
    for (const v1::NodeSnapshot& node : nodes_) {
      const Status connected = world_.agents.Connect(node);
      ASSERT_TRUE(connected.ok()) << connected.message();
    }
    world_.agents.Advance(300ms);
  }
  // The settings change while the agents are connected, and reach the state file.
  void Report() {
    for (const v1::NodeSnapshot& node : nodes_) {
      v1::AgentMessage message;
      *message.mutable_snapshot() = node;
      ASSERT_TRUE(world_.agents.Say(node.node().name(), message).ok());
    }
    world_.agents.Advance(10s);
  }

  ControlWorld world_;
  std::vector<v1::NodeSnapshot> nodes_;
};

// All links of a leaf are down, and no LLDP frame arrives any more. A restart changes nothing.
TEST_F(MemoryTest, ADeadLeafIsOneFindingAfterARestart) {
  nodes_ = testing::Nodes(6, testing::RoceNode);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const std::uint32_t rail : {0U, 1U}) {
      v1::LldpNeighbor& neighbor = *nodes_[i].add_lldp_neighbors();
      neighbor.set_netdev(testing::NetdevOf(nodes_[i], rail).name());
      neighbor.set_system_name(i < 3 ? "leaf-1" : "leaf-2");
    }
  ConnectAll();
  for (std::size_t i = 0; i < 3; ++i) {
    nodes_[i].clear_lldp_neighbors();
    for (const std::uint32_t rail : {0U, 1U}) testing::LinkDown(nodes_[i], rail);
  }
  Report();
  ASSERT_THAT(world_.OpenFindings(), Contains("port_active switch leaf-1"));
  world_.Restart();
  ConnectAll();
  EXPECT_THAT(world_.OpenFindings(), Contains("port_active switch leaf-1"));
}

TEST_F(MemoryTest, AMissingCardOfTheOnlyNodeIsMissingAfterARestart) {
  nodes_ = {testing::RoceNode({.number = 1, .rails = 4})};
  ConnectAll();
  testing::RemoveCard(nodes_[0], 1);
  Report();
  const std::vector<std::string> before = world_.OpenFindings();
  ASSERT_THAT(before, Contains("fabric_card_present n1"));
  world_.Restart();
  ConnectAll();
  EXPECT_EQ(world_.OpenFindings(), before);
}

}  // namespace
}  // namespace fabric::control
