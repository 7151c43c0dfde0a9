// What functions are and are there for: vital_product_data, roce_lag, function_class; VF, bond and
// VLAN of the netdevs.
#include <gmock/gmock.h>

#include <fstream>

#include "agents/inspect/parse/vpd.h"
#include "tests/testing/tree_archive.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFunctionsDevice = kCard + "/infiniband/mlx5_0";

v1::NodeSnapshot InspectedFixture(const std::string& name) {
  const testing::Fixture tree(name);
  testing::FakeHost fake(tree.path());
  return Inspect(fake.host(), {.node_name = "", .now = WallTime{}});
}

const v1::RdmaDevice& Device(const v1::NodeSnapshot& snapshot, const std::string& name) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.name() == name) return device;
  ADD_FAILURE() << "no device " << name;
  return snapshot.rdma_devices(0);
}

const v1::NetInterface& Netdev(const v1::NodeSnapshot& snapshot, const std::string& name) {
  for (const v1::NetInterface& netdev : snapshot.net_interfaces())
    if (netdev.name() == name) return netdev;
  ADD_FAILURE() << "no netdev " << name;
  return snapshot.net_interfaces(0);
}

class VfBond : public ::testing::Test {
 protected:
  static const v1::NodeSnapshot& Snapshot() {
    static const v1::NodeSnapshot snapshot = InspectedFixture("vf_bond");
    return snapshot;
  }
};

TEST_F(VfBond, EveryKindOfFunctionIsTold) {
  struct Case {
    const char* device;
    v1::FunctionKind kind;
    v1::FunctionRole role;
    const char* reason;
  };
  const Case cases[] = {
      {"mlx5_bond_0", v1::FUNCTION_KIND_BOND, v1::FUNCTION_ROLE_FABRIC, "bond bond0 formed"},
      {"mlx5_0", v1::FUNCTION_KIND_PHYSICAL, v1::FUNCTION_ROLE_FABRIC, "0000:5e:00.0"},
      {"mlx5_2", v1::FUNCTION_KIND_VIRTUAL, v1::FUNCTION_ROLE_UNSPECIFIED, "of 0000:3b:00.0"},
      {"mlx5_4", v1::FUNCTION_KIND_SUBFUNCTION, v1::FUNCTION_ROLE_UNSPECIFIED,
       "mlx5_core.sf.4 of 0000:3b:00.0"},
  };
  for (const Case& row : cases) {
    const v1::FunctionClass& function = Device(Snapshot(), row.device).function();
    EXPECT_EQ(function.kind(), row.kind)
        << row.device << ": " << v1::FunctionKind_Name(function.kind());
    EXPECT_EQ(function.role(), row.role)
        << row.device << ": " << v1::FunctionRole_Name(function.role());
    EXPECT_THAT(function.reason(), HasSubstr(row.reason)) << row.device;
    EXPECT_TRUE(function.counters_allowed()) << row.device;
  }
}

TEST_F(VfBond, RepresentorsAreNetdevsWhoseCountersAreLeftAlone) {
  for (const char* name : {"ens1f0npf0vf0", "ens1f0npf0vf1", "en3f0pf0sf88"}) {
    const v1::FunctionClass& function = Netdev(Snapshot(), name).function();
    EXPECT_EQ(function.kind(), v1::FUNCTION_KIND_REPRESENTOR) << name;
    EXPECT_FALSE(function.counters_allowed()) << name;
  }
  EXPECT_EQ(Netdev(Snapshot(), "ens1f0np0").function().kind(), v1::FUNCTION_KIND_PHYSICAL);
}

TEST_F(VfBond, LagOfOneCardFormedAndShowsTheBond) {
  const v1::Port& port = Device(Snapshot(), "mlx5_bond_0").ports(0);
  EXPECT_TRUE(port.lag().formed());
  EXPECT_EQ(port.lag().bond(), "bond0");
  EXPECT_EQ(port.netdev(), "bond0");
}

TEST_F(VfBond, BondAcrossTwoCardsFormedNone) {
  for (const auto& [device, netdev] : {std::pair("mlx5_0", "ens2np0"), {"mlx5_1", "ens3np0"}}) {
    const v1::Port& port = Device(Snapshot(), device).ports(0);
    EXPECT_TRUE(port.lag().has_formed()) << device;
    EXPECT_FALSE(port.lag().formed()) << device;
    EXPECT_EQ(port.lag().reason(), "members ens2np0 and ens3np0 sit on 2 cards");
    EXPECT_EQ(port.netdev(), netdev);
  }
}

TEST_F(VfBond, EachFunctionHasItsOwnNetdev) {
  EXPECT_EQ(Device(Snapshot(), "mlx5_2").ports(0).netdev(), "ens1f0v0");
  EXPECT_EQ(Device(Snapshot(), "mlx5_3").ports(0).netdev(), "ens1f0v1");
  EXPECT_EQ(Device(Snapshot(), "mlx5_4").ports(0).netdev(), "enp59s0f0s88");
}

TEST_F(VfBond, BondsAndVlansAreStacked) {
  const v1::NetInterface& bond = Netdev(Snapshot(), "bond0");
  EXPECT_EQ(bond.bond().mode(), "802.3ad");
  EXPECT_EQ(bond.bond().transmit_hash_policy(), "layer3+4");
  EXPECT_THAT(bond.bond().members(), ElementsAre("ens1f0np0", "ens1f1np1"));
  EXPECT_THAT(bond.uppers(), ElementsAre("bond0.100"));
  EXPECT_EQ(Netdev(Snapshot(), "ens1f1np1").master(), "bond0");
  EXPECT_TRUE(Netdev(Snapshot(), "ens1f1np1").bond_member().mii_up());
  EXPECT_FALSE(Netdev(Snapshot(), "ens3np0").bond_member().active());
  const v1::Vlan& vlan = Netdev(Snapshot(), "bond0.100").vlan();
  EXPECT_EQ(vlan.id(), 100u);
  EXPECT_EQ(vlan.lower(), "bond0");
  EXPECT_THAT(vlan.egress_priorities(), ElementsAre(3, 0, 0, 0, 3, 0, 6, 0));
}

TEST(RoceLag, DebugfsKnowsBest) {
  SmallNode node;
  node.tree.Link(kNetdev + "/master", "../../../../virtual/net/bond0");
  node.File("sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
  node.File("sys/class/net/bond0/bonding/slaves", "eth0\n");
  const std::string state = "sys/kernel/debug/mlx5/0000:3b:00.0/lag/state";
  node.File(state, "active\n");
  EXPECT_TRUE(node.Inspected().rdma_devices(0).ports(0).lag().formed());
  node.File(state, "disabled\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.rdma_devices(0).ports(0).lag().formed());
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).lag().state(), "disabled");
  EXPECT_EQ(snapshot.rdma_devices(0).ports(0).netdev(), "eth0");
}

TEST(FunctionClass, VirtualFunctionInAGuestIsItsFabric) {
  SmallNode node;
  node.File(kCard + "/device", "0x101e\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.rdma_devices(0).function().kind(), v1::FUNCTION_KIND_VIRTUAL);
  EXPECT_EQ(snapshot.rdma_devices(0).function().role(), v1::FUNCTION_ROLE_FABRIC);
}

TEST(FunctionClass, SoftwareDevices) {
  SmallNode rxe;
  rxe.File(kFunctionsDevice + "/parent",
           "eth0\n");  // Old kernels: with a link to the netdev's function.
  const v1::NodeSnapshot with_rxe = rxe.Inspected();
  EXPECT_EQ(with_rxe.rdma_devices(0).function().kind(), v1::FUNCTION_KIND_SOFTWARE);
  EXPECT_EQ(with_rxe.rdma_devices(0).parent_netdev(), "eth0");
  SmallNode siw;
  siw.File(kFunctionsDevice + "/node_desc", "Software iWARP stack\n");
  siw.File(kFunctionsDevice + "/node_type", "4: RNIC\n");
  const v1::NodeSnapshot with_siw = siw.Inspected();
  EXPECT_EQ(with_siw.rdma_devices(0).driver(), "siw");
  EXPECT_EQ(with_siw.rdma_devices(0).protocol(), v1::PROTOCOL_IWARP);
  EXPECT_FALSE(with_siw.rdma_devices(0).ports(0).gids(0).has_type());
  EXPECT_THAT(GapsOf(with_siw, "gids"), IsEmpty());
}

// It may have come up as Ethernet by mistake.
TEST(FunctionClass, EthernetCardOfTheBoardOfInfinibandOnesIsInDoubt) {
  const testing::Fixture tree("h100_infiniband");
  testing::FakeHost fake(tree.path());
  const std::string device = tree.path() + "/sys/class/infiniband/mlx5_2/";
  std::ofstream(device + "ports/1/link_layer") << "Ethernet\n";
  const auto role = [&] {
    return Device(Inspect(fake.host(), {.node_name = "n1", .now = WallTime()}), "mlx5_2")
        .function()
        .role();
  };
  EXPECT_EQ(role(), v1::FUNCTION_ROLE_FABRIC);
  std::ofstream(device + "board_id") << "MT_0000000834\n";
  EXPECT_EQ(role(), v1::FUNCTION_ROLE_STORAGE);
}

TEST(FunctionClass, DefaultRouteAloneTellsNothing) {
  SmallNode node;
  node.File("proc/net/route",
            "Iface Destination\neth0\t00000000\t0A0A0A0A\t0003\t0\t0\t0\t00000000\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::FunctionClass& function = snapshot.rdma_devices(0).function();
  EXPECT_EQ(function.role(), v1::FUNCTION_ROLE_FABRIC);
  EXPECT_THAT(function.reason(), HasSubstr("eth0 carries the default route"));
}

// Fields of a card as its maker writes them.
std::string Field(const std::string& keyword, const std::string& value) {
  return keyword + static_cast<char>(value.size()) + value;
}
std::string Resource(char tag, const std::string& content) {
  return std::string{tag, static_cast<char>(content.size() & 0xff),
                     static_cast<char>(content.size() >> 8)} +
         content;
}
const std::string kVpd = Resource('\x82', "NVIDIA ConnectX-7 adapter card") +
                         Resource('\x90', Field("PN", "MCX75310AAS-NEAT") + Field("EC", "A7") +
                                              Field("SN", "MT2243X00123  ")) +
                         "\x78";

TEST(ParseVpd, TakesPartSerialAndProduct) {
  const auto vpd = ParseVpd(kVpd + "\xff\xff");
  ASSERT_TRUE(vpd.ok());
  EXPECT_EQ(vpd->product, "NVIDIA ConnectX-7 adapter card");
  EXPECT_EQ(vpd->part_number, "MCX75310AAS-NEAT");
  EXPECT_EQ(vpd->serial_number, "MT2243X00123");
  EXPECT_FALSE(vpd->nvswitch_management);
}

TEST(ParseVpd, ToleratesWhatIsCutShortAndRefusesTheRest) {
  const auto cut = ParseVpd(std::string_view(kVpd).substr(0, 40));
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(cut->part_number);
  for (const std::string& bytes : {std::string(), std::string(64, '\xff'), std::string(64, '\0')})
    EXPECT_EQ(ParseVpd(bytes).status().code(), Code::kInvalidArgument);
}

TEST(VitalProductData, NamesTheCardAndTheManagersOfSwitches) {
  SmallNode node;
  node.File(kCard + "/vpd", kVpd);
  const v1::NodeSnapshot plain = node.Inspected();
  EXPECT_EQ(plain.rdma_devices(0).part_number(), "MCX75310AAS-NEAT");
  EXPECT_EQ(plain.net_interfaces(0).board_part(), "MCX75310AAS-NEAT");
  EXPECT_EQ(plain.rdma_devices(0).function().role(), v1::FUNCTION_ROLE_FABRIC);
  node.File(kCard + "/vpd", Resource('\x90', Field("VA", "MLX:MODL=CX7:SMDL=SW_MNG")) + "\x78");
  const v1::NodeSnapshot managing = node.Inspected();
  EXPECT_EQ(managing.rdma_devices(0).function().role(), v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT);
  EXPECT_FALSE(managing.rdma_devices(0).function().counters_allowed());
  EXPECT_THAT(managing.rdma_devices(0).function().reason(), HasSubstr("SMDL=SW_MNG"));
}

// Without vital product data, which are root's, the shape of the card tells.
TEST(FunctionClass, FourInfinibandFunctionsOfAConnectX7ManageSwitches) {
  testing::TempTree tree;
  for (const char* function : {"0", "1", "2", "3"}) {
    const std::string card = std::string("sys/devices/pci0000:a0/0000:a3:00.") + function;
    const std::string device = card + "/infiniband/mlx5_" + function;
    tree.Link(std::string("sys/class/infiniband/mlx5_") + function, "../../../" + device);
    tree.Link(device + "/device", std::string("../../../0000:a3:00.") + function);
    tree.File(card + "/vendor", "0x15b3\n").File(card + "/device", "0x1021\n");
    tree.File(device + "/node_type", "1: CA\n")
        .File(device + "/ports/1/link_layer", "InfiniBand\n");
  }
  testing::FakeHost fake(tree.path());
  const v1::NodeSnapshot snapshot = Inspect(fake.host(), {.node_name = "", .now = WallTime{}});
  ASSERT_EQ(snapshot.rdma_devices_size(), 4);
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    EXPECT_EQ(device.function().role(), v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT);
    EXPECT_FALSE(device.function().counters_allowed());
  }
}

}  // namespace
}  // namespace fabric::inspect
