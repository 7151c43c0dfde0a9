// duplicate_mac, duplicate_node_guid, duplicate_port_guid, duplicate_lid, duplicate_machine_id
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(DuplicateMac, NamesBothPorts) {
  auto nodes = Nodes(3, testing::RoceNode);
  NetdevOf(nodes[2], 1).set_mac(NetdevOf(nodes[0], 1).mac());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "duplicate_mac");
  EXPECT_EQ(finding.title(),
            "MAC address 52:54:00:fb:01:01 is on 2 ports, expected on one: n1/mlx5_1/1, "
            "n3/mlx5_1/1");
  EXPECT_EQ(finding.evidence(1).source(), "sys/class/net/rail1/address");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("ethtool -P rail1"));
}

TEST(DuplicateMac, AllowsMembersOfABond) {
  auto nodes = Nodes(1, testing::RoceNode);
  NetdevOf(nodes[0], 1).set_mac(NetdevOf(nodes[0], 0).mac());
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicateMac, CoversAGuidMadeFromIt) {
  auto nodes = Nodes(3, testing::LabNode);
  NetdevOf(nodes[2], 1).set_mac(NetdevOf(nodes[0], 1).mac());
  DeviceOf(nodes[2], 1).set_node_guid(DeviceOf(nodes[0], 1).node_guid());
  EXPECT_THAT(Failures(nodes), ElementsAre("duplicate_mac fleet"));
}

TEST(DuplicateNodeGuid, NamesBothDevices) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  DeviceOf(nodes[2], 0).set_node_guid(DeviceOf(nodes[0], 0).node_guid());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "duplicate_node_guid");
  EXPECT_THAT(finding.title(), HasSubstr("node GUID 5054:00ff:fe00:0001 is on 2 ports"));
  EXPECT_EQ(finding.evidence(0).source(), "sys/class/infiniband/mlx5_0/node_guid");
  EXPECT_EQ(finding.remedies(0).command(), "flint -d 0000:17:00.0 query full");
}

TEST(DuplicateNodeGuid, CoversThePortGuid) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  DeviceOf(nodes[2], 0).set_node_guid(DeviceOf(nodes[0], 0).node_guid());
  PortOf(nodes[2], 0).set_port_guid(PortOf(nodes[0], 0).port_guid());
  *PortOf(nodes[2], 0).mutable_gids() = PortOf(nodes[0], 0).gids();
  EXPECT_THAT(Failures(nodes), ElementsAre("duplicate_node_guid fleet"));
}

TEST(DuplicateNodeGuid, AllowsFunctionsOfOneCard) {
  auto nodes = Nodes(1, testing::RoceNode);
  DeviceOf(nodes[0], 1).set_node_guid(DeviceOf(nodes[0], 0).node_guid());
  EXPECT_THAT(Failures(nodes), ElementsAre("duplicate_node_guid fleet"));
  DeviceOf(nodes[0], 1).set_sys_image_guid(DeviceOf(nodes[0], 0).sys_image_guid());
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicateNodeGuid, IgnoresZero) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (auto& node : nodes) DeviceOf(node, 0).set_node_guid("0000:0000:0000:0000");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicatePortGuid, NamesBothPorts) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  PortOf(nodes[2], 1).set_port_guid(PortOf(nodes[1], 1).port_guid());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "duplicate_port_guid");
  EXPECT_EQ(finding.evidence(0).source(), "sys/class/infiniband/mlx5_1/ports/1/gids/0");
}

TEST(DuplicateLid, FailsWithinOneSubnet) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  PortOf(nodes[2], 0).set_lid(PortOf(nodes[0], 0).lid());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "LID 10 is on 2 ports, expected on one: n1/mlx5_0/1, n3/mlx5_0/1");
  EXPECT_EQ(finding.evidence(1).source(), "sys/class/infiniband/mlx5_0/ports/1/lid");
}

TEST(DuplicateLid, AllowsSeparateFabrics) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  PortOf(nodes[2], 1).set_lid(PortOf(nodes[0], 0).lid());  // Another rail, the default prefix
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      PortOf(node, rail).set_subnet_prefix("fec0:0000:0000:0001");
  EXPECT_THAT(Failures(nodes), ElementsAre("duplicate_lid fleet"));
  for (auto& node : nodes) PortOf(node, 1).set_subnet_prefix("fec0:0000:0000:0002");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicateLid, CoversAllLidsOfAPort) {
  auto nodes = Nodes(2, testing::InfinibandNode, {.rails = 1});
  PortOf(nodes[0], 0).set_lid(16);
  PortOf(nodes[0], 0).set_lmc(2);
  PortOf(nodes[1], 0).set_lid(19);
  EXPECT_EQ(TheFailure(nodes).title(),
            "LID 19 is on 2 ports, expected on one: n1/mlx5_0/1, n2/mlx5_0/1");
  PortOf(nodes[1], 0).set_lid(20);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicateLid, AllowsVirtualFunctions) {
  auto nodes = Nodes(2, testing::InfinibandNode, {.rails = 1});
  PortOf(nodes[1], 0).set_lid(PortOf(nodes[0], 0).lid());
  DeviceOf(nodes[1], 0).mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DuplicateMachineId, NamesTheClones) {
  auto nodes = Nodes(3, testing::LabNode);
  nodes[2].mutable_node()->set_machine_id(nodes[0].node().machine_id());
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "duplicate_machine_id");
  EXPECT_THAT(finding.title(), HasSubstr("is on 2 nodes, expected on one: n1, n3"));
  for (auto& node : nodes) node.mutable_node()->clear_machine_id();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
