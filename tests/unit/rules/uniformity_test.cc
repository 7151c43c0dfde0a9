// firmware_equal, driver_version_equal, nic_equal_on_rail, fabric_port_count_equal,
// rail_order_equal, device_names_equal, link_layer_equal_on_rail, protocol_equal_on_rail,
// software_rdma_with_hardware, rdma_port_has_netdev
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using testing::PortOf;
using ::testing::SizeIs;

TEST(FirmwareEqual, ComparesCardsOfOneBoard) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 4});
  DeviceOf(nodes[1], 2).set_firmware("28.36.1010");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "firmware 28.36.1010, expected 28.39.1002 (7 of 8 ports with PSID of ConnectX-7)");
  EXPECT_EQ(finding.evidence(0).source(), "sys/class/infiniband/mlx5_2/fw_ver");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("mlxfwmanager -d 0000:19:00.0"));
  DeviceOf(nodes[1], 2).set_pci_address("0000:19:00.1");
  EXPECT_THAT(Failures(nodes), ::testing::Not(::testing::Contains(HasSubstr("firmware_equal"))))
      << "the first function represents the card";
}

TEST(FirmwareEqual, ComparesWithTheProfile) {
  v1::Expectations expect;
  expect.set_firmware("28.43.1014");
  const auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "firmware 28.39.1002, expected 28.43.1014 (profile test)");
}

TEST(DriverVersionEqual, GivesOneFindingForANode) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 4});
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 4; ++rail) DeviceOf(node, rail).set_driver_version("24.10");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    DeviceOf(nodes[1], rail).set_driver_version("23.10");
  EXPECT_EQ(TheFailure(nodes).title(),
            "driver version 23.10, expected 24.10 (2 of 3 ports with mlx5_core)");
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    DeviceOf(nodes[1], rail).set_driver_version(nodes[1].node().kernel_release());
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the kernel's own driver";
}

TEST(NicEqualOnRail, NamesBothBoards) {
  auto nodes = Nodes(3, testing::RoceNode);
  DeviceOf(nodes[1], 1).set_board_id("DEL0000000033");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "nic_equal_on_rail");
  EXPECT_THAT(finding.title(), HasSubstr("board id DEL0000000033, expected PSID of ConnectX-7"));
  EXPECT_EQ(finding.evidence(1).what(), "model");
  for (auto& node : nodes) node.mutable_host()->clear_product();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "machines of other makers";
}

TEST(FabricPortCountEqual, NamesTheNodeThatLacksACard) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 4, .gpu = false});
  testing::RemoveCard(nodes[1], 3);
  // In other slots: which card is missing is not known.
  for (std::uint32_t rail = 0; rail < 3; ++rail)
    testing::MoveCard(nodes[1], rail, Format("0000:e{}:00.0", rail));
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().node(), "n2");
  EXPECT_THAT(finding.title(), HasSubstr("number of RDMA ports 3, expected 4 (2 of 3 nodes"));
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("lspci"));
}

TEST(FabricPortCountEqual, ComparesWithTheProfile) {
  v1::Expectations expect;
  expect.set_fabric_ports(8);
  auto nodes = Nodes(1, testing::LabNode, {.rails = 2});
  EXPECT_THAT(TheFailure(nodes, Expecting(expect)).title(), HasSubstr("2, expected 8 (profile"));
}

TEST(RailOrderEqual, NamesTheFirstCardInAnotherSlot) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 4});
  testing::MoveCard(nodes[2], 3, "0000:99:00.0");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rail_order_equal");
  EXPECT_EQ(finding.title(),
            "slots of the cards: rail 3 at 0000:99:00.0, expected rail 3 at 0000:1a:00.0 (2 of 3 "
            "nodes with server with ConnectX-7 PROTOCOL_ROCE)");
  nodes.pop_back();
  testing::MoveCard(nodes[1], 3, "0000:99:00.0");
  EXPECT_EQ(TheFailure(nodes).subject().scope(), v1::SCOPE_FLEET) << "without a majority";
}

TEST(DeviceNamesEqual, NamesTheFirstDifference) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 4});
  DeviceOf(nodes[1], 0).set_name("mlx5_1");
  DeviceOf(nodes[1], 1).set_name("mlx5_0");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "device_names_equal");
  EXPECT_THAT(finding.title(),
              HasSubstr("mlx5_1 at 0000:17:00.0, expected mlx5_0 at 0000:17:00.0"));
}

// An Ethernet card among those of an InfiniBand fabric.
TEST(LinkLayerEqualOnRail, ComparesWithTheProfile) {
  auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 4});
  const v1::NodeSnapshot roce = testing::RoceNode({.rails = 4});
  *nodes[0].mutable_rdma_devices(3) = roce.rdma_devices(3);
  NetdevOf(nodes[0], 3) = roce.net_interfaces(4);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_protocol(v1::PROTOCOL_INFINIBAND);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(), "link layer Ethernet, expected InfiniBand (profile test)");
  EXPECT_EQ(finding.remedies(0).command(), "mlxconfig -y -d 0000:1a:00.0 set LINK_TYPE_P1=1");
}

TEST(LinkLayerEqualOnRail, ComparesNodesOfOneProduct) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  nodes[1] = testing::InfinibandNode({.number = 2, .rails = 1});
  EXPECT_THAT(Failures(nodes), IsEmpty());
  *nodes[1].mutable_host() = nodes[0].host();
  EXPECT_THAT(Failures(nodes), ElementsAre("link_layer_equal_on_rail n2/mlx5_0/1"));
}

TEST(ProtocolEqualOnRail, FailsForIwarpAmongRoce) {
  auto nodes = Nodes(3, testing::IwarpNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_protocol(v1::PROTOCOL_ROCE);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Failures(nodes, Expecting(expect)), SizeIs(3));
  const v1::Finding finding = Judge(nodes, Expecting(expect)).findings[0];
  EXPECT_EQ(finding.title(), "RDMA protocol iWARP, expected RoCE (profile test)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("name enable_roce value true"));
  for (auto& node : nodes) NetdevOf(node, 0).set_driver("cxgb4");
  EXPECT_EQ(Judge(nodes, Expecting(expect)).findings[0].remedies(0).command(), "")
      << "devlink's parameters are those of ice";
  auto roce = Nodes(3, testing::RoceNode, {.rails = 1});
  DeviceOf(roce[1], 0).set_protocol(v1::PROTOCOL_IWARP);
  EXPECT_THAT(Failures(roce), ElementsAre("protocol_equal_on_rail n2/mlx5_0/1"));
}

TEST(SoftwareRdmaWithHardware, NamesTheDevice) {
  auto nodes = Nodes(1, testing::RoceNode);
  EXPECT_THAT(Failures(Nodes(1, testing::LabNode)), IsEmpty()) << "nothing but software";
  v1::RdmaDevice& device = *nodes[0].add_rdma_devices();
  device = testing::LabNode({.number = 9}).rdma_devices(0);
  device.mutable_function()->clear_role();
  EXPECT_THAT(Failures(nodes), ::testing::Contains("software_rdma_with_hardware n1/rxe0"));
}

TEST(RdmaPortHasNetdev, FailsOnLiveMachinesOnly) {
  auto nodes = Nodes(1, testing::RoceNode);
  nodes[0].mutable_net_interfaces()->RemoveLast();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "netdev of the port: rail1, which is not in this namespace, expected one on this node");
  nodes[0].set_captured(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
