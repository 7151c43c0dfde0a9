// Addresses and identities of ports: iwarp_has_address, port_guid_not_of_other_node,
// node_description_unique, ipoib_settings_equal, umad_present
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
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
using Node = v1::NodeSnapshot;

TEST(Iwarp, NeedsAnAddress) {
  auto nodes = Nodes(3, testing::IwarpNode);
  NetdevOf(nodes[1], 1).clear_addresses();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "iwarp_has_address");
  EXPECT_EQ(finding.subject().device(), "irdma1");
  NetdevOf(nodes[1], 1).add_addresses("fe80::1/64");
  EXPECT_EQ(TheFailure(nodes).evidence(0).seen(), "only link-local ones");
  v1::Gap& gap = *nodes[1].add_gaps();
  gap.set_inspector("net_interfaces");
  gap.set_path("netlink addresses");
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the addresses were not read";
}

TEST(PortGuids, AreNotNodeGuidsOfOtherNodes) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  PortOf(nodes[2], 0).set_port_guid(DeviceOf(nodes[0], 1).node_guid());
  PortOf(nodes[0], 1).set_port_guid("0002:c903:0000:1111");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "port_guid_not_of_other_node");
  EXPECT_THAT(finding.title(), HasSubstr("n1/mlx5_1/1, n3/mlx5_0/1"));
}

TEST(NodeDescriptions, OfTheFactoryAreReportedOnce) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  for (Node& node : nodes)
    for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
      device.set_node_description(node.node().name() + " " + device.name());
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (Node& node : nodes)
    for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
      device.set_node_description("MT4129 ConnectX7 Mellanox Technologies");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "node_description_unique");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_INFO);
}

TEST(Ipoib, ModeAndMtuAreEqualInAPartition) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      NetdevOf(node, rail).set_ipoib_mode("datagram");
      NetdevOf(node, rail).set_ipoib_pkey(0xffff);
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  auto other_mode = nodes;
  NetdevOf(other_mode[1], 0).set_ipoib_mode("connected");
  EXPECT_THAT(TheFailure(other_mode).title(), HasSubstr("IPoIB mode connected, expected datagram"));
  auto other_mtu = nodes;
  NetdevOf(other_mtu[1], 0).set_mtu_bytes(4092);
  EXPECT_THAT(TheFailure(other_mtu).title(), HasSubstr("IPoIB MTU 4092, expected 2044"));
  NetdevOf(other_mtu[1], 0).set_ipoib_pkey(0x8001);
  EXPECT_THAT(Failures(other_mtu), IsEmpty()) << "a partition of its own";
  v1::Expectations expect;
  expect.set_ipoib_mode("connected");
  EXPECT_THAT(Failures({nodes[0]}, Expecting(expect)), ::testing::SizeIs(2));
}

TEST(Umad, IsNeededOnInfinibandOnly) {
  for (const auto make : {testing::InfinibandNode, testing::RoceNode}) {
    auto nodes = Nodes(2, make, {});
    for (Node& node : nodes)
      for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
        device.add_character_devices("uverbs" + device.name().substr(5));
    if (make == testing::RoceNode) {
      EXPECT_THAT(Failures(nodes), IsEmpty());
      continue;
    }
    EXPECT_THAT(Failures(nodes), ElementsAre("umad_present n1", "umad_present n2"));
    for (Node& node : nodes)
      for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
        device.add_character_devices("umad" + device.name().substr(5));
    EXPECT_THAT(Failures(nodes), IsEmpty());
    DeviceOf(nodes[0], 1).mutable_character_devices()->RemoveLast();
    EXPECT_EQ(TheFailure(nodes).title(), "mlx5_1 without a umad device, expected one each");
  }
}

}  // namespace
}  // namespace fabric::rules
