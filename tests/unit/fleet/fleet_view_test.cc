#include "daemon/fleet/fleet_view.h"

#include <gtest/gtest.h>

#include "daemon/fleet/sites.h"
#include "tests/testing/nodes.h"

namespace fabric::fleet {
namespace {

using testing::Nodes;

std::vector<NodeRecord> Records(const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  return records;
}

// The devices of the first node in rail order, "-" in front of those that have no rail.
std::vector<std::string> Order(const v1::NodeSnapshot& node) {
  const std::vector<NodeRecord> records = Records({node});
  std::vector<std::string> devices;
  const FleetView view(records);
  for (const PortView& port : view.nodes()[0].ports)
    devices.push_back((port.rail ? "" : "-") + port.device->name() + "/" +
                      std::to_string(port.port->number()));
  return devices;
}

using Strings = std::vector<std::string>;

TEST(FleetView, RailsHoldThePortsOfEveryNodeByName) {
  auto nodes = Nodes(3, testing::LabNode);
  std::swap(nodes[0], nodes[2]);
  const auto records = Records(nodes);
  const FleetView view(records);
  ASSERT_EQ(view.rails().size(), 2U);
  for (std::uint32_t rail = 0; rail < 2; ++rail) {
    ASSERT_EQ(view.rails()[rail].size(), 3U);
    for (std::uint32_t i = 0; i < 3; ++i) {
      const PortView& port = view.rails()[rail][i];
      EXPECT_EQ(port.node->name, "n" + std::to_string(i + 1));
      EXPECT_EQ(port.device->name(), "rxe" + std::to_string(rail));
      EXPECT_EQ(port.rail, Rail(rail));
      ASSERT_NE(port.netdev, nullptr);
      EXPECT_EQ(port.netdev->name(), "rail" + std::to_string(rail));
    }
  }
}

TEST(FleetView, LeavesLostNodesOut) {
  Fleet fleet;
  for (const auto& node : Nodes(3, testing::LabNode)) fleet.Put(node, {});
  fleet.MarkLost("n2", "gone", {});
  const FleetView view(fleet);
  EXPECT_EQ(view.nodes().size(), 2U);
  EXPECT_EQ(view.rails()[0].size(), 2U);
  EXPECT_EQ(view.Find("n2"), nullptr);
  ASSERT_NE(view.Find("n3"), nullptr);
  EXPECT_EQ(view.Find("n3")->node->name, "n3");
}

TEST(FleetView, OrdersByPciAddressWhateverTheDevicesAreCalled) {
  auto node = testing::RoceNode({.rails = 3});
  node.mutable_rdma_devices(0)->set_pci_address("0000:e1:00.0");
  EXPECT_EQ(Order(node), (Strings{"mlx5_1/1", "mlx5_2/1", "mlx5_0/1"}));
  node.mutable_rdma_devices(1)->set_pci_address("10000:01:00.0");
  EXPECT_EQ(Order(node), (Strings{"mlx5_2/1", "mlx5_0/1", "mlx5_1/1"}));
}

TEST(FleetView, OrdersSoftwareDevicesByTheirNetdevsPciAddress) {
  auto node = testing::LabNode({.rails = 2});
  testing::NetdevOf(node, 0).set_pci_address("0000:e1:00.0");
  EXPECT_EQ(Order(node), (Strings{"rxe1/1", "rxe0/1"}));
}

TEST(FleetView, OrdersByNetdevNameWithoutAnyPciAddress) {
  auto node = testing::LabNode({.rails = 3});
  const std::vector<std::string> names = {"eth10", "eth2", "eth9"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    testing::NetdevOf(node, i).clear_pci_address();
    testing::NetdevOf(node, i).set_name(names[i]);
    testing::PortOf(node, i).set_netdev(names[i]);
  }
  EXPECT_EQ(Order(node), (Strings{"rxe1/1", "rxe2/1", "rxe0/1"}));
}

TEST(FleetView, CountsEveryPortOfACardWithTwoAndThoseWithoutNetdev) {
  auto node = testing::RoceNode({.rails = 2});
  v1::Port second = testing::PortOf(node, 0);
  second.set_number(2);
  second.clear_netdev();
  *testing::DeviceOf(node, 0).add_ports() = second;
  EXPECT_EQ(Order(node), (Strings{"mlx5_0/1", "mlx5_0/2", "mlx5_1/1"}));
}

TEST(FleetView, SwitchPortsHaveNoRail) {
  auto node = testing::InfinibandNode({.rails = 2});
  testing::DeviceOf(node, 0).set_node_type(v1::NODE_TYPE_SWITCH);
  EXPECT_EQ(Order(node), (Strings{"mlx5_1/1", "-mlx5_0/1"}));
}

TEST(FleetView, OnlyWhatIsFabricHasARail) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 4});
  testing::DeviceOf(node, 0).mutable_function()->set_role(v1::FUNCTION_ROLE_MANAGEMENT);
  testing::DeviceOf(node, 1).clear_function();
  testing::DeviceOf(node, 1).mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  testing::DeviceOf(node, 2).mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  testing::NetdevOf(node, 3).mutable_function()->set_kind(v1::FUNCTION_KIND_REPRESENTOR);
  EXPECT_EQ(Order(node), (Strings{"mlx5_2/1", "-mlx5_0/1", "-mlx5_1/1", "-mlx5_3/1"}));
}

TEST(FleetView, SubjectNamesThePortWithNetdevAndRail) {
  const auto records = Records(Nodes(1, testing::LabNode));
  const v1::Subject subject = FleetView(records).rails()[1][0].Subject();
  EXPECT_EQ(subject.scope(), v1::SCOPE_PORT);
  EXPECT_EQ(subject.node(), "n1");
  EXPECT_EQ(subject.device(), "rxe1");
  EXPECT_EQ(subject.port(), 1U);
  EXPECT_EQ(subject.netdev(), "rail1");
  EXPECT_EQ(subject.rail(), 1U);
}

std::string Usable(v1::NodeSnapshot node) {
  const v1::Gid* gid = UsableGid(testing::DeviceOf(node, 0), testing::PortOf(node, 0));
  return gid == nullptr ? "none" : std::to_string(gid->index()) + " " + gid->gid();
}

// LLDP ends with the link, or some minutes after frames no longer arrive.
TEST(Sites, RememberTheSwitchPortOfAPortThatHearsNoNeighbor) {
  Fleet fleet;
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 1});
  v1::LldpNeighbor& heard = *node.add_lldp_neighbors();
  heard.set_netdev("rail0");
  heard.set_system_name("leaf-2");
  heard.set_port_id("swp5");
  fleet.Put(node, {});
  node.clear_lldp_neighbors();
  fleet.Put(node, {});
  const auto is_known = [](const Fleet& known) {
    const FleetView view(known);
    const PortView& port = view.Find("n1")->ports.at(0);
    EXPECT_EQ(Sites().Of(port).leaf, "leaf-2");
    EXPECT_EQ(Sites().LeafPort(port), "swp5");
  };
  is_known(fleet);
  Fleet restarted;
  restarted.Restore({.name = "n1", .snapshot = node}, fleet.MemoryOf(*fleet.Find("n1")));
  restarted.Put(node, {});
  is_known(restarted);
}

TEST(FleetView, ABondIsUnderASwitchWhenItsMembersHearOneAlone) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 1});
  v1::NetInterface& bond = testing::NetdevOf(node, 0);
  for (const char* member : {"ens1f0", "ens1f1"}) {
    bond.mutable_bond()->add_members(member);
    v1::LldpNeighbor& neighbor = *node.add_lldp_neighbors();
    neighbor.set_netdev(member);
    neighbor.set_chassis_id("aa");
    neighbor.set_system_name("leaf1");
    neighbor.set_port_id(member);
  }
  const auto leaf = [&] {
    Fleet fleet;
    fleet.Put(node, {});
    const FleetView view(fleet);
    const PortView& port = view.rails()[0][0];
    return Sites().Of(port).leaf;
  };
  EXPECT_EQ(leaf(), "leaf1");
  node.mutable_lldp_neighbors(1)->set_chassis_id("bb");
  EXPECT_EQ(leaf(), "") << "two switches: which way a flow takes nobody knows";
  node.mutable_lldp_neighbors()->RemoveLast();
  EXPECT_EQ(leaf(), "leaf1") << "the other member hears nobody";
}

TEST(FleetView, MachinesAndPortsThatAreAlikeAreOfOneKind) {
  auto nodes = Nodes(5, testing::RoceNode);
  testing::DeviceOf(nodes[1], 1).set_model("ConnectX-6");
  nodes[2].mutable_host()->set_product("another server");
  nodes[3].mutable_rdma_devices()->RemoveLast();
  const auto records = Records(nodes);
  const FleetView view(records);
  const auto node = [&](std::size_t i) -> const NodeView& { return view.nodes()[i]; };
  EXPECT_EQ(node(0).kind, node(4).kind);
  EXPECT_EQ(node(0).ports[1].kind, node(4).ports[1].kind);
  EXPECT_EQ(node(0).kind, node(1).kind);
  EXPECT_EQ(node(0).ports[0].kind, node(1).ports[0].kind);
  EXPECT_NE(node(0).ports[1].kind, node(1).ports[1].kind) << "another card";
  EXPECT_NE(node(0).ports[0].kind, node(2).ports[0].kind) << "another machine";
  EXPECT_NE(node(0).product, node(2).product);
  EXPECT_NE(node(0).kind, node(3).kind) << "a card is missing";
  EXPECT_EQ(node(0).product, node(3).product);
}

TEST(FleetView, WithoutAProductTheCardsTellMachinesApart) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (auto& node : nodes) node.mutable_host()->clear_product();
  testing::DeviceOf(nodes[1], 1).set_model("ConnectX-6");
  const auto records = Records(nodes);
  const FleetView view(records);
  EXPECT_EQ(view.nodes()[0].product, view.nodes()[2].product);
  EXPECT_NE(view.nodes()[0].product, view.nodes()[1].product);
  EXPECT_EQ(view.nodes()[0].kind, view.nodes()[1].kind);
}

TEST(FleetView, APortThatIsDownOrHasNoRailCarriesNoRoce) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .rails = 3});
  testing::LinkDown(node, 1);
  testing::DeviceOf(node, 2).mutable_function()->set_role(v1::FUNCTION_ROLE_STORAGE);
  const auto records = Records({node, testing::InfinibandNode({.number = 2})});
  const FleetView view(records);
  EXPECT_TRUE(view.nodes()[0].ports[0].carries_roce);
  EXPECT_FALSE(view.nodes()[0].ports[1].carries_roce);
  EXPECT_FALSE(view.nodes()[0].ports[2].carries_roce);
  EXPECT_FALSE(view.nodes()[1].ports[0].carries_roce);
}

TEST(UsableGid, IsTheRoutableOneOfEachKind) {
  EXPECT_EQ(Usable(testing::RoceNode({})), "3 0000:0000:0000:0000:0000:ffff:0a0a:0001");
  EXPECT_EQ(Usable(testing::LabNode({})), "1 0000:0000:0000:0000:0000:ffff:0a0a:0001");
  EXPECT_EQ(Usable(testing::InfinibandNode({})), "0 fe80:0000:0000:0000:5054:00ff:fe00:0001");
  EXPECT_EQ(Usable(testing::IwarpNode({})), "none");
}

TEST(UsableGid, PrefersIpv4AndTakesIpv6) {
  auto node = testing::LabNode({});
  v1::Gid ipv6 = testing::PortOf(node, 0).gids(1);
  ipv6.set_gid("fd00:0000:0000:0000:0000:0000:0000:0001");
  ipv6.set_ipv4("");
  ipv6.set_index(0);
  *testing::PortOf(node, 0).mutable_gids(0) = ipv6;
  EXPECT_EQ(Usable(node), "1 0000:0000:0000:0000:0000:ffff:0a0a:0001");
  testing::PortOf(node, 0).mutable_gids()->DeleteSubrange(1, 1);
  EXPECT_EQ(Usable(node), "0 fd00:0000:0000:0000:0000:0000:0000:0001");
}

TEST(UsableGid, NoneWithLinkLocalOnes) {
  auto node = testing::RoceNode({});
  testing::DropAddress(node, 0);
  EXPECT_EQ(Usable(node), "none");
}

TEST(IsRoce, ByProtocolAndByLinkLayerOfThePort) {
  auto roce = testing::RoceNode({});
  EXPECT_TRUE(IsRoce(testing::DeviceOf(roce, 0), testing::PortOf(roce, 0)));
  auto iwarp = testing::IwarpNode({});
  EXPECT_FALSE(IsRoce(testing::DeviceOf(iwarp, 0), testing::PortOf(iwarp, 0)));
  testing::DeviceOf(iwarp, 0).clear_protocol();
  EXPECT_FALSE(IsRoce(testing::DeviceOf(iwarp, 0), testing::PortOf(iwarp, 0))) << "an RNIC";
  testing::PortOf(roce, 0).set_link_layer(v1::LINK_LAYER_INFINIBAND);
  EXPECT_FALSE(IsRoce(testing::DeviceOf(roce, 0), testing::PortOf(roce, 0))) << "mixed card";
}

}  // namespace
}  // namespace fabric::fleet
