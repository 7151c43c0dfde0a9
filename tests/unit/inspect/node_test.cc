// The inspectors host_identity and net_interfaces, and the runner.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/text.h"
#include "base/version.h"
#include "tests/testing/paths.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(HostIdentity, ReadsTheMachine) {
  SmallNode node;
  const v1::NodeIdentity identity = node.Inspected().node();
  EXPECT_EQ(identity.name(), "small");
  EXPECT_EQ(identity.machine_id(), "00ff");
  EXPECT_EQ(identity.kernel_release(), "6.1.0");
  EXPECT_EQ(identity.boot_id(), "11111111-2222-4333-8444-555555555555");
  EXPECT_EQ(identity.agent_version(), kVersion);
}

TEST(HostIdentity, ANameThatIsGivenStays) {
  SmallNode node;
  EXPECT_EQ(Inspect(node.fake.host(), {.node_name = "n7", .now = {}}).node().name(), "n7");
}

TEST(HostIdentity, AnImageThatWasNeverBootedHasNoMachineId) {
  for (const std::string text : {"", "\n", "uninitialized\n"}) {
    SmallNode node;
    node.File("etc/machine-id", text);
    const v1::NodeSnapshot snapshot = node.Inspected();
    EXPECT_EQ(snapshot.node().machine_id(), "");
    EXPECT_THAT(GapsOf(snapshot, "host_identity"),
                ElementsAre(HasSubstr("etc/machine-id: NOT_FOUND the machine has no id yet")));
  }
}

TEST(NetInterfaces, ReadsNetdevsOfHardwareAndRdmaOnly) {
  SmallNode node;
  node.File("sys/class/net/veth0/mtu", "1500\n").File("sys/class/net/lo/mtu", "65536\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_EQ(snapshot.net_interfaces_size(), 1);
  const v1::NetInterface& netdev = snapshot.net_interfaces(0);
  EXPECT_EQ(netdev.name(), "eth0");
  EXPECT_EQ(netdev.index(), 4u);
  EXPECT_EQ(netdev.mtu_bytes(), 4200u);
  EXPECT_EQ(netdev.oper_state(), v1::OPER_STATE_UP);
  EXPECT_TRUE(netdev.carrier());
  EXPECT_EQ(netdev.speed_bps(), 100'000'000'000u);
  EXPECT_EQ(netdev.driver(), "mlx5_core");
  EXPECT_EQ(netdev.pci_address(), "0000:3b:00.0");
}

TEST(NetInterfaces, ADownedNetdevHasNeitherCarrierNorSpeedAndThatIsNoGap) {
  SmallNode node;
  node.fake.addresses.status = Status();
  node.File(kNetdev + "/operstate", "down\n").Remove(kNetdev + "/carrier");
  node.File(kNetdev + "/speed", "-1\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).has_carrier());
  EXPECT_FALSE(snapshot.net_interfaces(0).has_speed_bps());
  EXPECT_THAT(GapsOf(snapshot, "net_interfaces"), IsEmpty());
}

TEST(NetInterfaces, AddressesAreSortedAndOfThatIndex) {
  SmallNode node;
  node.fake.addresses.status = Status();
  node.fake.addresses.addresses = {{4, "fe80::1/64"}, {4, "10.10.0.1/24"}, {5, "10.10.0.2/24"}};
  EXPECT_THAT(node.Inspected().net_interfaces(0).addresses(),
              ElementsAre("10.10.0.1/24", "fe80::1/64"));
}

TEST(NetInterfaces, EthtoolKnowsDriverAndFirmware) {
  SmallNode node;
  node.fake.ethtool.status = Status();
  node.fake.ethtool.drivers["eth0"] = {.driver = "mlx5_core", .firmware = "22.39.1002 (MT_1)"};
  EXPECT_EQ(node.Inspected().net_interfaces(0).firmware(), "22.39.1002 (MT_1)");
  node.fake.ethtool.drivers["eth0"] = {.driver = "virtio_net", .firmware = "N/A"};
  EXPECT_EQ(node.Inspected().net_interfaces(0).driver(), "virtio_net");
  EXPECT_FALSE(node.Inspected().net_interfaces(0).has_firmware());
}

TEST(NetInterfaces, LinkSettingsThatTheDriverLacksAreNoGap) {
  SmallNode node;
  node.fake.ethtool.link_status = {Code::kUnimplemented, "Operation not supported"};
  node.fake.addresses.status = Status();
  EXPECT_THAT(GapsOf(node.Inspected(), "net_interfaces"), IsEmpty());
  node.fake.ethtool.link_status = {Code::kPermissionDenied, "Operation not permitted"};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).has_fec());
  EXPECT_THAT(GapsOf(snapshot, "net_interfaces"),
              ElementsAre("eth0 netlink ethtool eth0: PERMISSION_DENIED Operation not permitted"));
}

TEST(Runner, AnInspectorThatFailsBecomesAGapOfItsName) {
  SmallNode node;
  node.Remove("sys/class/net").Remove(kNetdev);
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(GapsOf(snapshot, "net_interfaces"),
              ElementsAre(" sys/class/net: NOT_FOUND No such file or directory"));
  EXPECT_THAT(snapshot.rdma_devices(), SizeIs(1)) << "the others go on";
}

TEST(Runner, CountersAreSortedBySourceAndName) {
  SmallNode node;
  node.File(kPort + "/counters/VL15_dropped", "0\n").File(kPort + "/hw_counters/a", "1\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_THAT(snapshot.counters(), SizeIs(1));
  std::vector<std::string> names;
  for (const v1::Counter& counter : snapshot.counters(0).counters())
    names.push_back(counter.name());
  EXPECT_THAT(names, ElementsAre("VL15_dropped", "symbol_error", "a", "out_of_sequence"));
}

TEST(AddGap, LeavesThePathOutOfTheReasonAndTakesAnyByte) {
  v1::NodeSnapshot snapshot;
  AddGap(snapshot, "gids", "mlx5_0/1", "sys/x",
         Status(Code::kDataLoss, "saw \xff").At("/tmp/tree/sys/x"));
  EXPECT_EQ(snapshot.gaps(0).reason(), "saw ?");
  EXPECT_EQ(snapshot.gaps(0).code(), v1::GAP_CODE_DATA_LOSS);
}

TEST(AddGap, LeavesOutThePathOfAnotherFileButNotANameOfAnotherKind) {
  v1::NodeSnapshot snapshot;
  AddGap(snapshot, "rdma_devices", "mlx5_0", "sys/class/infiniband/mlx5_0/device/numa_node",
         Status(Code::kNotFound, "gone").At("/captures/n1/sys/bus/pci/devices/x/numa_node"));
  EXPECT_EQ(snapshot.gaps(0).reason(), "gone");
  AddGap(snapshot, "dcb", "eth0", "netlink dcb", Status(Code::kNotFound, "gone").At("eth0/dcb"));
  EXPECT_EQ(snapshot.gaps(1).reason(), "eth0/dcb: gone");
}

TEST(Catalog, EveryInspectorHasANameAndASentence) {
  std::vector<std::string> names;
  for (const Inspector* inspector : AllInspectors()) {
    names.emplace_back(inspector->name);
    EXPECT_THAT(std::string(inspector->doc), HasSubstr(" "));
  }
  EXPECT_THAT(
      names,
      ElementsAre("host_identity", "rdma_devices", "character_devices", "vital_product_data",
                  "gids", "netdev_map", "net_interfaces", "bonds_and_vlans", "ipoib", "roce_lag",
                  "routing", "storage", "function_class", "modules", "rdma_ports", "dcb",
                  "global_pause", "congestion_control", "pfc_storm_prevention", "roce_defaults",
                  "port_counters", "hw_counters", "pause_counters", "gpus", "pci_functions",
                  "gpu_nic_paths", "function_position", "peer_memory", "nvlinks", "host_facts",
                  "boot_time", "cpu_power", "interrupts", "sensors", "host_limits", "rdma_stack",
                  "kernel_log", "time_sync", "lldp", "rdma_processes", "pods"));
}

TEST(Catalog, ThePageSaysOfEachInspectorWhatItSaysOfItself) {
  std::ifstream file(std::string(testing::kSourceDir) + "/docs/reference/INSPECTORS.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Inspector* inspector : AllInspectors())
    EXPECT_THAT(page, HasSubstr(Format("\n| `{}` | {} | ", inspector->name, inspector->doc)));
}

}  // namespace
}  // namespace fabric::inspect
