// The inspectors rdma_devices, gids, netdev_map and rdma_ports.
#include <gmock/gmock.h>

#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDevice = kCard + "/infiniband/mlx5_0";

TEST(RdmaDevices, ReadsFilesWhereThereIsNoNetlink) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.rdma_devices_size(), 1);
  const v1::RdmaDevice& device = snapshot.rdma_devices(0);
  EXPECT_EQ(device.node_guid(), "b859:9f03:00aa:0010");
  EXPECT_EQ(device.protocol(), v1::PROTOCOL_ROCE);
  EXPECT_EQ(device.firmware(), "22.39.1002");
  EXPECT_EQ(device.driver(), "mlx5_core");
  EXPECT_EQ(device.pci_address(), "0000:3b:00.0");
  EXPECT_EQ(device.numa_node(), 1);
  EXPECT_FALSE(device.has_board_id());
  EXPECT_THAT(GapsOf(snapshot, "rdma_devices"), IsEmpty());
}

TEST(RdmaDevices, PrefersRdmaNetlink) {
  SmallNode node;
  node.AnswerRdma();
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).node_guid(), "b859:9f03:00aa:0099");
  EXPECT_EQ(snapshot.rdma_devices(0).firmware(), "22.40.1000");
  EXPECT_FALSE(snapshot.captured());
}

TEST(RdmaDevices, UnknownNumaNodeIsAbsent) {
  SmallNode node;
  node.File(kCard + "/numa_node", "-1\n");
  EXPECT_FALSE(node.Inspected().rdma_devices(0).has_numa_node());
}

TEST(RdmaDevices, SoftwareDeviceHasAParentFileInsteadOfALink) {
  SmallNode node;
  node.Remove(kDevice + "/device").File(kDevice + "/parent", "eth0\n");
  node.File(kDevice + "/fw_ver", "\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).driver(), "rxe");
  EXPECT_FALSE(snapshot.rdma_devices(0).has_pci_address());
  EXPECT_FALSE(snapshot.rdma_devices(0).has_firmware());
  EXPECT_THAT(GapsOf(snapshot, "rdma_devices"), IsEmpty());
}

TEST(RdmaDevices, NoRdmaAtAllIsNoGap) {
  SmallNode node;
  node.Remove("sys/class/infiniband").Remove(kCard + "/infiniband");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices_size(), 0);
  EXPECT_THAT(GapsOf(snapshot, "rdma_devices"), IsEmpty());
}

TEST(Gids, EmptySlotsAreLeftOutWithoutAGap) {
  SmallNode node;  // Slot 1 is all zero and has no type: a real one fails with EINVAL.
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::Port& port = snapshot.rdma_devices(0).ports(0);
  ASSERT_EQ(port.gids_size(), 1);
  EXPECT_EQ(port.gids(0).type(), v1::GID_TYPE_ROCE_V2);
  EXPECT_EQ(port.gids(0).netdev(), "eth0");
  EXPECT_TRUE(port.gids(0).link_local());
  EXPECT_THAT(GapsOf(snapshot, "gids"), IsEmpty());
}

TEST(Gids, InfinibandHasNoNetdevs) {
  SmallNode node;
  node.File(kPort + "/link_layer", "InfiniBand\n").File(kPort + "/gid_attrs/types/0", "IB/RoCE v1");
  node.Remove(kPort + "/gid_attrs/ndevs");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).gids(0).type(), v1::GID_TYPE_INFINIBAND);
  EXPECT_THAT(GapsOf(snapshot, "gids"), IsEmpty());
}

TEST(Gids, VerbsTellWhichSlotsAreInUseSoThatNoOthersAreRead) {
  SmallNode node;
  node.File(kPort + "/gids/7", "0000:0000:0000:0000:0000:ffff:0a0a:0001\n");
  node.File(kPort + "/gid_attrs/types/7", "RoCE v2\n");
  node.fake.verbs.status = Status();
  node.fake.verbs.devices["mlx5_0"] = {
      .ports = {{.active_mtu_bytes = 1024, .max_mtu_bytes = 4096, .gid_table_length = 256}},
      .gids = {{.port = 1, .index = 7}, {.port = 2, .index = 0}}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::Port& port = snapshot.rdma_devices(0).ports(0);
  ASSERT_EQ(port.gids_size(), 1) << "slot 0 is another port's";
  EXPECT_EQ(port.gids(0).index(), 7U);
  EXPECT_EQ(port.gids(0).ipv4(), "10.10.0.1");
  EXPECT_EQ(port.gid_table_length(), 256U);
  EXPECT_EQ(port.active_mtu_bytes(), 1024U) << "though QueryPort() has no answer";
  EXPECT_EQ(port.max_mtu_bytes(), 4096U);
}

TEST(Gids, OfADeviceWhoseVerbsRefuseAreInItsFiles) {
  SmallNode node;
  node.fake.verbs.status = Status(Code::kPermissionDenied, "no access");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).gids_size(), 1);
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).gid_table_length(), 2U);
  EXPECT_THAT(GapsOf(snapshot, "gids"), IsEmpty());
  EXPECT_THAT(GapsOf(snapshot, "rdma_ports"), ElementsAre(HasSubstr("PERMISSION_DENIED")));
}

std::string MappedNetdev(SmallNode& node) {
  return node.Inspected().rdma_devices(0).ports(0).netdev();
}

TEST(NetdevMap, NetlinkThenGidThenPciFunction) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.rdma.links[7][0].netdev_name = "by_netlink";
  EXPECT_EQ(MappedNetdev(node), "by_netlink");
  node.fake.rdma.status = testing::NotLive();
  node.File(kPort + "/gid_attrs/ndevs/0", "by_gid\n");
  EXPECT_EQ(MappedNetdev(node), "by_gid");
  node.Remove(kPort + "/gid_attrs/ndevs/0");
  EXPECT_EQ(MappedNetdev(node), "eth0");
}

TEST(NetdevMap, GoesBelowABondToTheCardsOwnNetdev) {
  SmallNode node;
  node.File(kPort + "/gid_attrs/ndevs/0", "bond0\n");
  node.tree
      .Link("sys/class/net/bond0/lower_eth0", "../../../devices/pci0000:3a/0000:3b:00.0/net/eth0")
      .Directory("sys/class/net/bond0/lower_eth9");
  EXPECT_EQ(MappedNetdev(node), "eth0");
}

TEST(NetdevMap, SkipsRepresentorsAndOtherPorts) {
  SmallNode node;
  node.Remove(kPort + "/gid_attrs/ndevs/0");
  node.File(kCard + "/net/eth/phys_port_name", "pf0vf3\n");
  node.File(kNetdev + "/dev_port", "1\n");
  node.File(kCard + "/net/eth1/dev_port", "0\n");
  EXPECT_EQ(MappedNetdev(node), "eth1");
}

TEST(NetdevMap, SaysSoWhenNothingNamesANetdev) {
  SmallNode node;
  node.Remove(kPort + "/gid_attrs/ndevs/0").Remove(kCard + "/net");
  EXPECT_THAT(GapsOf(node.Inspected(), "netdev_map"),
              ElementsAre(HasSubstr("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/gid_attrs/"
                                    "ndevs: NOT_FOUND")));
}

TEST(RdmaPorts, ReadsStatesRateAndLids) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::Port& port = snapshot.rdma_devices(0).ports(0);
  EXPECT_EQ(port.state(), v1::PORT_STATE_ACTIVE);
  EXPECT_EQ(port.physical_state(), v1::PHYSICAL_STATE_LINK_UP);
  EXPECT_EQ(port.rate_bps(), 100'000'000'000u);
  EXPECT_EQ(port.width(), 4u);
  EXPECT_EQ(port.speed(), "EDR");
  EXPECT_EQ(port.lid(), 0u);
  EXPECT_EQ(port.capability_mask(), 0x10000u);
}

TEST(RdmaPorts, RateOfADownedPortIsStale) {
  SmallNode node;
  node.File(kPort + "/state", "1: DOWN\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.rdma_devices(0).ports(0).has_rate_bps());
  EXPECT_THAT(GapsOf(snapshot, "rdma_ports"),
              Contains("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/rate: FAILED_PRECONDITION "
                       "not valid: the port is DOWN; reported as 4X EDR"));
}

TEST(RdmaPorts, StateOfNetlinkGoesFirst) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.rdma.links[7][0].state = std::uint8_t{2};
  EXPECT_EQ(node.Inspected().rdma_devices(0).ports(0).state(), v1::PORT_STATE_INIT);
}

TEST(RdmaPorts, MtuComesFromVerbs) {
  SmallNode node;
  node.fake.verbs.status = Status();
  node.fake.verbs.ports[{"mlx5_0", 1}] = {.active_mtu_bytes = 1024, .max_mtu_bytes = 4096};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).active_mtu_bytes(), 1024u);
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).max_mtu_bytes(), 4096u);
  EXPECT_THAT(GapsOf(snapshot, "rdma_ports"), IsEmpty());
}

TEST(RdmaPorts, MtuIsDerivedOnRoceWithAGapThatSaysSo) {
  SmallNode node;
  node.fake.verbs.status = Status(Code::kPermissionDenied, "uverbs0: permission denied");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).active_mtu_bytes(), 4096u);
  EXPECT_FALSE(snapshot.rdma_devices(0).ports(0).has_max_mtu_bytes());
  EXPECT_THAT(GapsOf(snapshot, "rdma_ports"),
              ElementsAre("mlx5_0/1 verbs query_port mlx5_0 1: PERMISSION_DENIED uverbs0: "
                          "permission denied; active MTU 4096 derived from MTU 4200 of eth0"));
}

TEST(RdmaPorts, MtuIsNeverDerivedOnInfiniband) {
  SmallNode node;
  node.File(kPort + "/link_layer", "InfiniBand\n");
  EXPECT_FALSE(node.Inspected().rdma_devices(0).ports(0).has_active_mtu_bytes());
}

}  // namespace
}  // namespace fabric::inspect
