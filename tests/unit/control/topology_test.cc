// What the controller tells about its InfiniBand topology.
#include <gtest/gtest.h>

#include <string_view>

#include "daemon/control/controller.h"
#include "daemon/fleet/infiniband_topology.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;

constexpr std::string_view kOneLeaf =
    "# Topology file: generated on Sat Nov 21 09:30:12 2026\n"
    "Switch 65 \"S-00000000000000a0\" # \"MF0;leaf:MQM9700/U1\" base\n"
    "[1] \"H-505400fffe000001\"[1](505400fffe000001) # \"n1\" lid 5 4xNDR\n";

TEST(InfinibandTopology, CoversWhatTheFleetHasNow) {
  ControlWorld world;
  EXPECT_FALSE(world.controller->Infiniband().known);
  v1::NodeSnapshot node = testing::InfinibandNode({.number = 1, .rails = 1, .gpu = false});
  ASSERT_TRUE(world.agents.Connect(node).ok());
  auto topology = fleet::InfinibandTopology::Parse(kOneLeaf);
  ASSERT_TRUE(topology.ok()) << topology.status().message();
  world.controller->SetInfiniband(*std::move(topology), world.agents.now());
  EXPECT_TRUE(world.controller->Infiniband().known);
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 1U);
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 0U);

  ASSERT_TRUE(
      world.agents.Connect(testing::InfinibandNode({.number = 2, .rails = 1, .gpu = false})).ok());
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 1U);
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 1U) << "a node that is not in the file";

  world.agents.Disconnect("n2", "gone");
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 0U) << "it is lost";

  v1::AgentMessage down;
  v1::RdmaDevice& device = *down.mutable_change()->add_rdma_devices();
  device = node.rdma_devices(0);
  device.mutable_ports(0)->set_state(v1::PORT_STATE_DOWN);
  ASSERT_TRUE(world.agents.Say("n1", down).ok());
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 0U) << "its port is not up any more";
}

}  // namespace
}  // namespace fabric::control
