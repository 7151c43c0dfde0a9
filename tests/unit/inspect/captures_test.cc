// Trees as people capture them: links flattened or turned into files, parts missing, placeholders.
#include <gmock/gmock.h>

#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/report/report.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDevice = kCard + "/infiniband/mlx5_0";

void ExpectWhole(const v1::NodeSnapshot& snapshot) {
  ASSERT_EQ(snapshot.rdma_devices_size(), 1);
  const v1::RdmaDevice& device = snapshot.rdma_devices(0);
  EXPECT_EQ(device.pci_address(), "0000:3b:00.0");
  EXPECT_EQ(device.driver(), "mlx5_core");
  EXPECT_EQ(device.numa_node(), 1);
  ASSERT_EQ(device.ports_size(), 1);
  EXPECT_EQ(device.ports(0).netdev(), "eth0");
  EXPECT_THAT(GapsOf(snapshot, "rdma_devices"), IsEmpty());
}

TEST(Captures, LinksThatBecameFilesWithTheirText) {
  SmallNode node;
  node.Remove("sys/class/infiniband/mlx5_0").Remove("sys/class/net/eth0");
  node.File("sys/class/infiniband/mlx5_0",
            "../../devices/pci0000:3a/0000:3b:00.0/infiniband/mlx5_0");
  node.File("sys/class/net/eth0", "../../devices/pci0000:3a/0000:3b:00.0/net/eth0");
  node.Remove(kDevice + "/device").File(kDevice + "/device", "../../../0000:3b:00.0");
  node.Remove(kNetdev + "/device").File(kNetdev + "/device", "../../../0000:3b:00.0");
  node.Remove(kCard + "/driver").File(kCard + "/driver", "../../../bus/pci/drivers/mlx5_core");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ExpectWhole(snapshot);
  EXPECT_EQ(snapshot.net_interfaces(0).pci_address(), "0000:3b:00.0");
}

TEST(Captures, LinkToTheFunctionThatWasLost) {
  SmallNode node;
  node.Remove(kDevice + "/device");
  ExpectWhole(node.Inspected());
}

TEST(Captures, WithoutClassDirectories) {
  SmallNode node;
  node.Remove("sys/class/infiniband").Remove("sys/class/net");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ExpectWhole(snapshot);
  EXPECT_EQ(snapshot.net_interfaces(0).mtu_bytes(), 4200u);
}

TEST(Captures, LinksOfClassesTellThePlaceOfWhatWasNotCaptured) {
  SmallNode node;
  node.Remove("sys/devices").File("sys/bus/pci/devices/readme", "");
  node.tree.Link("sys/class/net/lo", "../../devices/virtual/net/lo");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).pci_address(), "0000:3b:00.0");
  EXPECT_EQ(snapshot.rdma_devices(0).function().kind(), v1::FUNCTION_KIND_PHYSICAL);
  ASSERT_EQ(snapshot.net_interfaces_size(), 1) << "nobody misses lo";
  EXPECT_EQ(snapshot.net_interfaces(0).pci_address(), "0000:3b:00.0");
  EXPECT_THAT(GapsOf(snapshot, "rdma_devices"),
              ElementsAre("mlx5_0 sys/class/infiniband/mlx5_0: NOT_FOUND a link into what was not "
                          "captured"));
}

TEST(Captures, FoldersInPlaceOfLinksToAnAuxiliaryDevice) {
  SmallNode node;
  const std::string function = "sys/bus/pci/devices/0000:3b:00.0";
  const std::string copy = "sys/class/infiniband/mlx5_4";
  node.tree.Link(function + "/mlx5_core.sf.4/infiniband/mlx5_4/unused", "x");
  node.File(copy + "/device/sfnum", "88\n").File(copy + "/fw_ver", "22.41.1000\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.rdma_devices_size(), 2);
  const v1::RdmaDevice& device = snapshot.rdma_devices(1);
  EXPECT_EQ(device.pci_address(), "0000:3b:00.0");
  EXPECT_EQ(device.numa_node(), 1);
  EXPECT_EQ(device.function().kind(), v1::FUNCTION_KIND_SUBFUNCTION);
}

TEST(Captures, AFolderInPlaceOfTheLinkToThePhysicalFunction) {
  SmallNode node;
  node.File(kCard + "/physfn/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.1\n");
  EXPECT_EQ(node.Inspected().rdma_devices(0).function().reason(),
            "virtual function of 0000:3b:00.1");
}

TEST(Captures, AFolderInPlaceOfTheLinkToTheIommuGroup) {
  SmallNode node;
  node.File(kCard + "/iommu_group/type", "identity\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.pci_functions(0).iommu_type(), "identity");
  EXPECT_FALSE(snapshot.pci_functions(0).has_iommu_group());
}

TEST(Captures, OfPciAloneShowCardsThatCouldHaveRdmaDevices) {
  SmallNode node;
  node.Remove("sys/class").Remove(kCard + "/infiniband").Remove(kCard + "/net");
  node.File(kCard + "/device", "0x1021\n").File(kCard + "/current_link_width", "8\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.pci_functions_size(), 1);
  EXPECT_EQ(snapshot.pci_functions(0).address(), "0000:3b:00.0");
  EXPECT_EQ(snapshot.pci_functions(0).link().width(), 8u);
  EXPECT_THAT(Report(snapshot), HasSubstr("0000:3b:00.0  ConnectX-7"));
}

TEST(Captures, PlaceholdersAreNoValues) {
  SmallNode node;
  node.File(kDevice + "/node_guid", "node_guid\n").File(kDevice + "/fw_ver", "N/A\n");
  node.File(kPort + "/phys_state", "15: <unknown>\n").File(kPort + "/lid", "N/A (no PMA)\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::RdmaDevice& device = snapshot.rdma_devices(0);
  EXPECT_FALSE(device.has_node_guid());
  EXPECT_FALSE(device.has_firmware());
  EXPECT_FALSE(device.ports(0).has_physical_state());
  EXPECT_FALSE(device.ports(0).has_lid());
  EXPECT_THAT(
      GapsOf(snapshot, "rdma_devices"),
      ElementsAre("mlx5_0 sys/class/infiniband/mlx5_0/fw_ver: UNIMPLEMENTED the file contains "
                  "'N/A'",
                  "mlx5_0 sys/class/infiniband/mlx5_0/node_guid: DATA_LOSS the file contains "
                  "its own name instead of a value"));
}

TEST(Captures, MissingGidsAreOneGapAndNoEmptyTable) {
  SmallNode node;
  node.Remove(kPort + "/gids");
  EXPECT_THAT(GapsOf(node.Inspected(), "gids"),
              ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/ports/1/gids: NOT_FOUND No such "
                          "file or directory"));
}

TEST(Captures, MissingGidTypesAreNamedOnce) {
  SmallNode node;
  node.File(kPort + "/gids/2", "0000:0000:0000:0000:0000:ffff:0a0a:0001\n");
  node.Remove(kPort + "/gid_attrs");
  EXPECT_EQ(GapsOf(node.Inspected(), "gids").size(), 2u);  // types and ndevs
}

TEST(ParseNet, DefaultRoutes) {
  EXPECT_THAT(DefaultRouteNetdevs("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
                                  "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                                  "eth1\t0000A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
                                  "lo\t00000000\t00000000\t0200\t0\t0\t100\t00000000\t0\t0\t0\n"),
              ElementsAre("eth0"));
}

TEST(ParseNet, NamesOfSwitchdevPorts) {
  for (const char* name : {"pf0vf3", "pf1sf88", "pf0hpf", "c1pf0vf1", "pf0"})
    EXPECT_TRUE(IsRepresentorPort(name)) << name;
  for (const char* name : {"", "p0", "p1s2", "pf", "pfx", "pf0vf", "pf0vf3x", "c1"})
    EXPECT_FALSE(IsRepresentorPort(name)) << name;
}

}  // namespace
}  // namespace fabric::inspect
