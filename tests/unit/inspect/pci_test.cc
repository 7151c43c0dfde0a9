// Places, distances and attributes of PCI functions.
#include <gmock/gmock.h>

#include "agents/inspect/pci_distance.h"
#include "agents/inspect/pci_place.h"
#include "agents/inspect/report/pci_text.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/tree_archive.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ParsePciSpeed, KnowsTheKernelsSpellings) {
  EXPECT_EQ(*ParsePciSpeed("32.0 GT/s PCIe"), 32000u);
  EXPECT_EQ(*ParsePciSpeed("2.5 GT/s PCIe"), 2500u);
  EXPECT_EQ(*ParsePciSpeed("8 GT/s"), 8000u);
  EXPECT_EQ(*ParsePciSpeed("Unknown"), 0u);
  EXPECT_EQ(*ParsePciSpeed("Unknown speed"), 0u);
  for (const char* wrong : {"", "32.0", "fast GT/s", "2.55 GT/s", "-8 GT/s", "99999 GT/s"})
    EXPECT_FALSE(ParsePciSpeed(wrong).ok()) << wrong;
  EXPECT_EQ(*ParsePciWidth("16"), 16u);
  EXPECT_EQ(*ParsePciWidth("255"), 0u);
  EXPECT_FALSE(ParsePciWidth("x16").ok());
}

TEST(ParseAerTotal, IsTheTotalOrTheSum) {
  EXPECT_EQ(*ParseAerTotal("RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 7"), 7u);
  EXPECT_EQ(*ParseAerTotal("RxErr 1\nBadTLP 2\n"), 3u);
  EXPECT_FALSE(ParseAerTotal("").ok());
  EXPECT_FALSE(ParseAerTotal("RxErr one").ok());
}

TEST(ParseLargestWindow, LooksAtMemoryOfTheSixRegisters) {
  const std::string port = "0x0000000000001000 0x00000000ffffffff 0x0000000000040101\n";
  const std::string empty = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  const std::string small = "0x00000000b0000000 0x00000000b0ffffff 0x0000000000040200\n";
  const std::string large = "0x0000200000000000 0x0000201fffffffff 0x000000000014220c\n";
  EXPECT_EQ(*ParseLargestWindow(small + large + empty + port), std::uint64_t{128} << 30);
  EXPECT_EQ(*ParseLargestWindow(empty + empty + empty + empty + empty + small + large), 16u << 20)
      << "the seventh is the ROM";
  EXPECT_EQ(*ParseLargestWindow(empty), 0u);
  EXPECT_FALSE(ParseLargestWindow("0x1 0x2").ok());
}

TEST(PlaceInPath, IsWhatLiesBelowTheLastHostBridge) {
  EXPECT_EQ(PlaceInPath("../../../devices/pci0000:15/0000:15:01.0/0000:18:00.0"),
            (PciPlace{"pci0000:15", {"0000:15:01.0"}}));
  EXPECT_EQ(PlaceInPath("../../../devices/pci0000:00/0000:00:04.0"), (PciPlace{"pci0000:00", {}}));
  EXPECT_EQ(
      PlaceInPath("sys/devices/pci0000:80/0000:80:05.5/pci10000:00/10000:00:02.0/10000:01:00.0"),
      (PciPlace{"pci10000:00", {"10000:00:02.0"}}));
  EXPECT_EQ(PlaceInPath("../../../devices/LNXSYSTM:00/MSFT1000:00/pci47d1:00/47d1:00:02.0"),
            (PciPlace{"pci47d1:00", {}}));
  EXPECT_EQ(PlaceInPath("../../../devices/platform/x.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"),
            (PciPlace{"pci0000:00", {"0000:00:00.0"}}));
  EXPECT_EQ(PlaceInPath("../../../devices/pci0000:00"), std::nullopt);
  EXPECT_EQ(PlaceInPath("../../../devices/virtual/net/lo"), std::nullopt);
  EXPECT_EQ(PlaceInPath("pci0000:00/0000:00:04.0/virtio0"), std::nullopt);
  EXPECT_EQ(PlaceInPath(""), std::nullopt);
}

PciBridge Bridge(const char* address, std::uint8_t secondary, std::uint8_t subordinate,
                 std::optional<std::uint8_t> port_type = {}) {
  return {*ParsePciAddress(address), secondary, subordinate, port_type};
}

TEST(PlaceByBuses, GoesUpFromBusToBus) {
  const std::vector<PciBridge> bridges = {
      Bridge("0000:15:01.0", 0x16, 0x19), Bridge("0000:16:00.0", 0x17, 0x19),
      Bridge("0000:17:00.0", 0x18, 0x18), Bridge("0001:15:01.0", 0x18, 0x18)};
  EXPECT_EQ(PlaceByBuses(*ParsePciAddress("0000:18:00.0"), {}, bridges),
            (PciPlace{"pci0000:15", {"0000:15:01.0", "0000:16:00.0", "0000:17:00.0"}}));
  EXPECT_EQ(PlaceByBuses(*ParsePciAddress("0000:19:00.0"), {}, bridges), std::nullopt)
      << "the port above is missing";
  EXPECT_EQ(PlaceByBuses(*ParsePciAddress("0000:41:00.0"), {}, bridges), std::nullopt)
      << "no bridge leads there";
  EXPECT_EQ(PlaceByBuses(*ParsePciAddress("0000:00:05.0"), {}, bridges),
            (PciPlace{"pci0000:00", {}}));
}

TEST(PlaceByBuses, StopsWhereTheNumbersMakeNoSense) {
  const auto function = *ParsePciAddress("0000:18:00.0");
  EXPECT_EQ(PlaceByBuses(function, {}, {Bridge("0000:17:00.0", 0x18, 0x18, 6)}), std::nullopt)
      << "a switch port is never at the top";
  EXPECT_EQ(PlaceByBuses(function, {},
                         {Bridge("0000:17:00.0", 0x18, 0x18), Bridge("0000:18:01.0", 0x17, 0x17)}),
            std::nullopt)
      << "a circle";
  EXPECT_TRUE(PlaceByBuses(function, {}, {Bridge("0000:17:00.0", 0x18, 0x18, 4)}));
  EXPECT_TRUE(PlaceByBuses(function, 9, {})) << "part of the root complex itself";
}

struct Pair {
  const char* what;
  std::vector<std::string> gpu;  // Root complex, then bridges
  std::vector<std::string> nic;
  v1::PciDistance distance;
  std::vector<std::string> bridges;
};

v1::PciFunction FunctionAt(const char* address, const std::vector<std::string>& place, int numa) {
  v1::PciFunction function;
  function.set_address(address);
  function.set_root_complex(place[0]);
  for (std::size_t i = 1; i < place.size(); ++i) function.add_path(place[i]);
  if (numa >= 0) function.set_numa_node(numa);
  return function;
}

TEST(Distance, IsByTheBridgesThatAreShared) {
  const Pair cases[] = {
      {"one switch",
       {"r", "root", "up", "a"},
       {"r", "root", "up", "b"},
       v1::PCI_DISTANCE_PIX,
       {"a", "up", "b"}},
      {"two functions of one card", {"r", "root"}, {"r", "root"}, v1::PCI_DISTANCE_PIX, {"root"}},
      {"a switch on the GPU's board",
       {"r", "root", "up", "a", "gup", "gdown"},
       {"r", "root", "up", "b"},
       v1::PCI_DISTANCE_PXB,
       {"gdown", "gup", "a", "up", "b"}},
      {"two switches below one port",
       {"r", "root", "up", "a", "u1", "d1"},
       {"r", "root", "up", "b", "u2", "d2"},
       v1::PCI_DISTANCE_PXB,
       {"d1", "u1", "a", "up", "b", "u2", "d2"}},
      {"two root ports", {"r", "p1"}, {"r", "p2"}, v1::PCI_DISTANCE_PHB, {"p1", "p2"}},
      {"a flat virtual machine", {"r"}, {"r"}, v1::PCI_DISTANCE_PHB, {}},
      {"two host bridges", {"r1", "p1"}, {"r2", "p2"}, v1::PCI_DISTANCE_NODE, {"p1", "p2"}},
      {"the same names elsewhere", {"r1", "p"}, {"r2", "p"}, v1::PCI_DISTANCE_NODE, {"p", "p"}},
  };
  for (const Pair& each : cases) {
    SCOPED_TRACE(each.what);
    const v1::NodeSnapshot none;
    const PciDistanceFound found = Distance(
        FunctionAt("gpu", each.gpu, 0), FunctionAt("nic", each.nic, 0), PciFunctions(none), false);
    EXPECT_EQ(found.distance, each.distance);
    EXPECT_EQ(found.bridges, each.bridges);
    EXPECT_EQ(found.reason, "");
  }
}

TEST(Distance, TypesOfPortsGoBeforeTheirOrder) {
  v1::NodeSnapshot snapshot;
  v1::PciFunction& bridge = *snapshot.add_pci_functions();
  bridge.set_address("up");
  bridge.set_port_type(v1::PCI_PORT_TYPE_UPSTREAM);
  // Without a root port above, as a virtual machine may show a switch.
  const auto found =
      Distance(FunctionAt("gpu", {"r", "up", "a"}, 0), FunctionAt("nic", {"r", "up", "b"}, 0),
               PciFunctions(snapshot), false);
  EXPECT_EQ(found.distance, v1::PCI_DISTANCE_PXB) << "two lower sides of unknown type count too";
  for (const char* lower : {"a", "b"}) {
    v1::PciFunction& port = *snapshot.add_pci_functions();
    port.set_address(lower);
    port.set_port_type(v1::PCI_PORT_TYPE_DOWNSTREAM);
  }
  EXPECT_EQ(Distance(FunctionAt("gpu", {"r", "up", "a"}, 0), FunctionAt("nic", {"r", "up", "b"}, 0),
                     PciFunctions(snapshot), false)
                .distance,
            v1::PCI_DISTANCE_PIX);
}

TEST(Distance, NeedsNumaNodesBetweenHostBridges) {
  const v1::NodeSnapshot none;
  const PciFunctions functions(none);
  const auto gpu = FunctionAt("0000:19:00.0", {"r1", "p1"}, 0);
  EXPECT_EQ(Distance(gpu, FunctionAt("nic", {"r2"}, 1), functions, false).distance,
            v1::PCI_DISTANCE_SYS);
  const auto unknown = Distance(gpu, FunctionAt("0000:18:00.0", {"r2"}, -1), functions, false);
  EXPECT_EQ(unknown.distance, v1::PCI_DISTANCE_UNSPECIFIED);
  EXPECT_EQ(unknown.reason, "the NUMA node of 0000:18:00.0 is unknown");
  EXPECT_EQ(Distance(gpu, FunctionAt("nic", {"r2"}, -1), functions, true).distance,
            v1::PCI_DISTANCE_NODE)
      << "a machine with one node";
  v1::PciFunction lost;
  lost.set_address("0000:20:00.0");
  EXPECT_EQ(Distance(gpu, lost, functions, true).reason,
            "the position of 0000:20:00.0 in the PCI tree is unknown");
}

const v1::PciFunction& FindFunction(const v1::NodeSnapshot& snapshot, const std::string& address) {
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (function.address() == address) return function;
  return v1::PciFunction::default_instance();
}

TEST(PciFunctions, ReadsTheCardAndItsSlot) {
  SmallNode node;
  const std::string port = "sys/devices/pci0000:3a/0000:3a:00.0";
  node.Remove("sys/bus/pci/devices/0000:3b:00.0");
  node.tree
      .Link("sys/bus/pci/devices/0000:3b:00.0",
            "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0")
      .Link("sys/bus/pci/devices/0000:3a:00.0", "../../../devices/pci0000:3a/0000:3a:00.0")
      .Link(port + "/0000:3b:00.0", "../0000:3b:00.0");
  node.File(port + "/uevent",
            "DRIVER=pcieport\nPCI_CLASS=60400\nPCI_ID=8086:352A\nPCI_SUBSYS_ID=8086:0000\n")
      .File(port + "/current_link_width", "8\n")
      .File(port + "/current_link_speed", "16.0 GT/s PCIe\n")
      .File(port + "/max_link_width", "8\n")
      .File(port + "/max_link_speed", "32.0 GT/s PCIe\n");
  node.File(kCard + "/current_link_width", "8\n")
      .File(kCard + "/current_link_speed", "16.0 GT/s PCIe\n")
      .File(kCard + "/max_link_width", "16\n")
      .File(kCard + "/max_link_speed", "16.0 GT/s PCIe\n")
      .File(kCard + "/device", "0x101d\n")
      .File(kCard + "/sriov_totalvfs", "8\n")
      .File(kCard + "/sriov_numvfs", "2\n")
      .File(kCard + "/aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3\n")
      .File("sys/kernel/iommu_groups/7/type", "DMA-FQ\n")
      .File("sys/kernel/iommu_groups/7/devices/0000:3b:00.0", "");
  const v1::NodeSnapshot snapshot = node.Inspected();
  ASSERT_THAT(snapshot.pci_functions(), SizeIs(2));
  const v1::PciFunction& bridge = snapshot.pci_functions(0);
  EXPECT_EQ(bridge.address(), "0000:3a:00.0");
  EXPECT_EQ(bridge.vendor_id(), "8086");
  EXPECT_EQ(bridge.device_id(), "352a");
  EXPECT_EQ(bridge.class_code(), "060400");
  EXPECT_EQ(bridge.driver(), "pcieport");
  EXPECT_FALSE(bridge.has_numa_node());
  const v1::PciFunction& card = snapshot.pci_functions(1);
  EXPECT_EQ(card.vendor_id(), "15b3");
  EXPECT_EQ(card.root_complex(), "pci0000:3a");
  EXPECT_THAT(card.path(), ElementsAre("0000:3a:00.0"));
  EXPECT_EQ(card.link().width(), 8u);
  EXPECT_EQ(card.link().speed_megatransfers_per_second(), 16000u);
  EXPECT_EQ(card.link_max().width(), 16u);
  EXPECT_EQ(card.slot_max().width(), 8u);
  EXPECT_EQ(card.slot_max().speed_megatransfers_per_second(), 32000u);
  EXPECT_EQ(card.sriov_vfs_max(), 8u);
  EXPECT_EQ(card.sriov_vfs(), 2u);
  EXPECT_EQ(card.aer_correctable(), 3u);
  EXPECT_FALSE(card.has_aer_fatal());
  EXPECT_EQ(card.iommu_group(), "7");
  EXPECT_EQ(card.iommu_type(), "DMA-FQ");
  EXPECT_FALSE(card.has_relaxed_ordering());
  EXPECT_THAT(GapsOf(snapshot, "pci_functions"),
              ElementsAre("0000:3a:00.0 sys/bus/pci/devices/0000:3a:00.0/config: NOT_FOUND "
                          "No such file or directory",
                          "0000:3b:00.0 sys/bus/pci/devices/0000:3b:00.0/config: NOT_FOUND "
                          "No such file or directory"));
}

TEST(PciFunctions, AnUnknownLinkIsAbsentAndNoGap) {
  SmallNode node;
  node.File(kCard + "/current_link_width", "0\n").File(kCard + "/current_link_speed", "Unknown\n");
  node.File(kCard + "/max_link_width", "255\n").File(kCard + "/max_link_speed", "Unknown\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.pci_functions(0).has_link());
  EXPECT_FALSE(snapshot.pci_functions(0).has_link_max());
  for (const std::string& gap : GapsOf(snapshot, "pci_functions"))
    EXPECT_THAT(gap, HasSubstr("/config: NOT_FOUND"));
}

TEST(PciFunctions, AFunctionWithoutPowerIsNotWokenUp) {
  SmallNode node;
  node.File(kCard + "/power_state", "D3cold\n").File(kCard + "/config", std::string(64, '\0'));
  EXPECT_THAT(GapsOf(node.Inspected(), "pci_functions")[0],
              HasSubstr("UNAVAILABLE the function is powered off"));
}

TEST(PciFunctions, AVirtualFunctionNamesItsPhysicalOne) {
  SmallNode node;
  node.tree.Link(kCard + "/physfn", "../0000:3a:00.0");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.pci_functions(0).physical_function(), "0000:3a:00.0");
  EXPECT_FALSE(snapshot.pci_functions(0).has_link());
}

// A second card: `files` of its function besides uevent.
void AddIdleCard(SmallNode& node, const std::string& address, const std::string& uevent) {
  const std::string place = "sys/devices/pci0000:3a/" + address;
  node.File(place + "/uevent", uevent).File(place + "/numa_node", "0\n");
  node.tree.Link("sys/bus/pci/devices/" + address, "../../../devices/pci0000:3a/" + address);
}

TEST(PciFunctions, IncludeCardsWithoutADriverOrAnRdmaDevice) {
  SmallNode node;
  AddIdleCard(node, "0000:5e:00.0", "PCI_CLASS=20700\nPCI_ID=15B3:1021\n");
  AddIdleCard(node, "0000:5f:00.0", "DRIVER=ice\nPCI_CLASS=20000\nPCI_ID=8086:1592\n");
  AddIdleCard(node, "0000:60:00.0", "PCI_CLASS=20000\nPCI_ID=15B3:FFF1\n");  // Not in the table
  AddIdleCard(node, "0000:61:00.0", "DRIVER=igb\nPCI_CLASS=20000\nPCI_ID=8086:1521\n");
  AddIdleCard(node, "0000:62:00.0", "PCI_CLASS=10802\nPCI_ID=144D:A824\n");
  AddIdleCard(node, "0000:5e:00.2", "PCI_CLASS=20700\nPCI_ID=15B3:101E\n");
  node.tree.Link("sys/devices/pci0000:3a/0000:5e:00.2/physfn", "../0000:5e:00.0");
  node.File("sys/bus/pci/slots/7/address", "0000:5e:00\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  std::vector<std::string> found;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    found.push_back(function.address() + " " + function.driver() + " " + function.slot());
  EXPECT_THAT(found, ElementsAre("0000:3b:00.0 mlx5_core ", "0000:5e:00.0  7", "0000:5f:00.0 ice ",
                                 "0000:60:00.0  "));
}

TEST(PciFunctions, TheDriverOfACaptureWithoutLinkAndUeventIsAGap) {
  SmallNode node;
  node.File("sys/devices/pci0000:3a/0000:5e:00.0/vendor", "0x15b3\n")
      .File("sys/devices/pci0000:3a/0000:5e:00.0/device", "0x1021\n")
      .File("sys/devices/pci0000:3a/0000:5e:00.0/class", "0x020700\n");
  node.tree.Link("sys/bus/pci/devices/0000:5e:00.0", "../../../devices/pci0000:3a/0000:5e:00.0");
  EXPECT_THAT(GapsOf(node.Inspected(), "pci_functions"),
              Contains(HasSubstr("0000:5e:00.0/driver: NOT_FOUND")));
}

// The fixtures as wholes: what an operator must be able to tell from them.
TEST(CapturedPci, OnlyBridgesBetweenAGpuAndANicCount) {
  const testing::Fixture tree("h100_infiniband");
  testing::FakeHost fake(tree.path());
  const v1::NodeSnapshot snapshot = Inspect(fake.host(), {.node_name = "", .now = WallTime{}});
  ASSERT_THAT(snapshot.gpu_nic_paths(), SizeIs(72));
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    SCOPED_TRACE(path.gpu() + " " + path.device());
    EXPECT_TRUE(path.acs_known());
    if (path.gpu() == "0000:19:00.0")
      EXPECT_THAT(path.acs_redirects(), ElementsAre("0000:17:01.0"));
    else
      EXPECT_THAT(path.acs_redirects(), IsEmpty());
  }
  EXPECT_EQ(snapshot.gpu_nic_paths(0).distance(), v1::PCI_DISTANCE_PIX);
  EXPECT_THAT(snapshot.gpu_nic_paths(0).bridges(),
              ElementsAre("0000:17:01.0", "0000:16:00.0", "0000:17:00.0"));
  const v1::PciFunction& degraded = FindFunction(snapshot, "0000:5e:00.0");
  EXPECT_EQ(degraded.link().width(), 8u);
  EXPECT_EQ(degraded.slot_max().width(), 16u);
  EXPECT_EQ(degraded.max_read_request_bytes(), 4096u);
  EXPECT_EQ(FindFunction(snapshot, "0000:17:01.0").acs().control(), 0x1du);
  EXPECT_EQ(FindFunction(snapshot, "0000:16:00.0").port_type(), v1::PCI_PORT_TYPE_UPSTREAM);
  EXPECT_FALSE(FindFunction(snapshot, "0000:17:00.0").has_slot_max());
  EXPECT_THAT(GapsOf(snapshot, "pci_functions"), IsEmpty());
}

TEST(CapturedPci, AFlattenedCaptureWithoutPrivilegeStillHasDistances) {
  const testing::Fixture tree("mi300x");
  testing::FakeHost fake(tree.path());
  const v1::NodeSnapshot snapshot = Inspect(fake.host(), {.node_name = "", .now = WallTime{}});
  ASSERT_THAT(snapshot.gpu_nic_paths(), SizeIs(4));
  const v1::GpuNicPath& near = snapshot.gpu_nic_paths(0);
  EXPECT_EQ(near.distance(), v1::PCI_DISTANCE_PXB);
  EXPECT_THAT(near.bridges(), ElementsAre("0000:04:00.0", "0000:03:00.0", "0000:02:00.0",
                                          "0000:01:00.0", "0000:02:01.0"));
  EXPECT_FALSE(near.acs_known());
  EXPECT_EQ(snapshot.gpu_nic_paths(1).distance(), v1::PCI_DISTANCE_UNSPECIFIED);
  EXPECT_EQ(snapshot.gpu_nic_paths(2).distance(), v1::PCI_DISTANCE_SYS);
  EXPECT_THAT(GapsOf(snapshot, "pci_functions"),
              ElementsAre(HasSubstr("PERMISSION_DENIED only 64 bytes are readable without "
                                    "CAP_SYS_ADMIN"),
                          HasSubstr("0000:86:00.0 sys/bus/pci/devices/0000:86:00.0: NOT_FOUND")));
}

}  // namespace
}  // namespace fabric::inspect
