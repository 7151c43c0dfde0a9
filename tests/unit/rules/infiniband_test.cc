// lid_assigned, subnet_manager_known, sm_lid_equal_in_subnet, subnet_prefix_equal_on_rail,
// subnet_prefix_distinct, pkey_full_member, pkeys_equal_on_rail, ib_mtu_full, ib_width_full,
// node_guid_set, vf_port_up
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <algorithm>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::PortOf;
using ::testing::SizeIs;
using Node = v1::NodeSnapshot;

struct Fault {
  const char* what;
  void (*plant)(Node&);
  const char* finding;  // Of node n2
  const char* title;
};

constexpr Fault kFaults[] = {
    {"no LID", [](Node& n) { PortOf(n, 0).set_lid(0); }, "lid_assigned n2/mlx5_0/1",
     "LID 0 on an ACTIVE port, expected one from 1 to 49151"},
    {"neither LID nor subnet manager",
     [](Node& n) {
       PortOf(n, 0).set_lid(0);
       PortOf(n, 0).set_sm_lid(0);
     },
     "lid_assigned n2/mlx5_0/1", "LID 0 on an ACTIVE port, expected one from 1 to 49151"},
    {"no subnet manager", [](Node& n) { PortOf(n, 0).set_sm_lid(0); },
     "subnet_manager_known n2/mlx5_0/1",
     "SM LID 0 on an ACTIVE port, expected that of a subnet manager"},
    {"another subnet manager", [](Node& n) { PortOf(n, 1).set_sm_lid(7); },
     "sm_lid_equal_in_subnet n2/mlx5_1/1",
     "SM LID 7, expected 1 (2 of 3 nodes with fe80:0000:0000:0000 on rail 1)"},
    {"another subnet prefix",
     [](Node& n) { PortOf(n, 1).set_subnet_prefix("fec0:0000:0000:0001"); },
     "subnet_prefix_equal_on_rail n2/mlx5_1/1",
     "subnet prefix fec0:0000:0000:0001, expected fe80:0000:0000:0000 (2 of 3 nodes on rail 1)"},
    {"limited membership", [](Node& n) { PortOf(n, 0).set_pkeys(0, 0x7fff); },
     "pkey_full_member n2/mlx5_0/1", "P_Keys 0x7fff: all limited, expected full membership in one"},
    {"another partition", [](Node& n) { PortOf(n, 0).add_pkeys(0x8005); },
     "pkeys_equal_on_rail n2/mlx5_0/1",
     "P_Keys 0xffff 0x8005, expected 0xffff (2 of 3 nodes on rail 0)"},
    {"MTU 2048", [](Node& n) { PortOf(n, 0).set_active_mtu_bytes(2048); },
     "mtu_equal_on_rail n2/mlx5_0/1",
     "active RDMA MTU 2048, expected 4096 (2 of 3 nodes on rail 0)"},
    {"one lane", [](Node& n) { PortOf(n, 0).set_width(1); }, "ib_width_full n2/mlx5_0/1",
     "link runs on 1 lane (EDR), expected 4"},
    {"zero node GUID", [](Node& n) { DeviceOf(n, 0).set_node_guid("0000:0000:0000:0000"); },
     "node_guid_set n2/mlx5_0", "node GUID is zero, expected a unique GUID"},
    {"not configured by a subnet manager",
     [](Node& n) {
       PortOf(n, 0).set_state(v1::PORT_STATE_INIT);
       PortOf(n, 0).set_lid(0);
       PortOf(n, 0).set_sm_lid(0);
     },
     "port_active n2/mlx5_0/1",
     "port is INIT (LinkUp), expected ACTIVE (LinkUp): no subnet manager has configured it"},
    {"ARMED", [](Node& n) { PortOf(n, 0).set_state(v1::PORT_STATE_ARMED); },
     "port_active n2/mlx5_0/1",
     "port is ARMED (LinkUp), expected ACTIVE (LinkUp): the subnet manager has not activated it"},
    {"cable pulled: LID 65535",
     [](Node& n) {
       PortOf(n, 0).set_state(v1::PORT_STATE_DOWN);
       PortOf(n, 0).set_physical_state(v1::PHYSICAL_STATE_POLLING);
       PortOf(n, 0).set_lid(65535);
     },
     "port_active n2/mlx5_0/1",
     "port is DOWN (Polling), expected ACTIVE (LinkUp): no link partner"},
};

TEST(Infiniband, EachFaultGivesExactlyOneFinding) {
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.what);
    auto nodes = Nodes(3, testing::InfinibandNode);
    fault.plant(nodes[1]);
    EXPECT_THAT(Failures(nodes), ElementsAre(fault.finding));
    EXPECT_THAT(Unknowns(nodes), IsEmpty());
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.title(), fault.title);
    EXPECT_GE(finding.remedies_size(), 1);
    EXPECT_FALSE(finding.evidence(0).source().empty());
  }
}

TEST(Infiniband, IsUnknownForValuesThatWereNotRead) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  for (std::uint32_t rail = 0; rail < 2; ++rail) {
    v1::Port& port = PortOf(nodes[1], rail);
    port.clear_lid();
    port.clear_sm_lid();
    port.clear_lmc();
    port.clear_subnet_prefix();
    port.clear_port_guid();
    port.clear_pkeys();
    port.clear_width();
    port.clear_gids();
    DeviceOf(nodes[1], rail).clear_node_guid();
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  std::set<std::string> unknown;
  for (const v1::Finding& finding : Judge(nodes).findings) {
    EXPECT_EQ(finding.subject().node(), "n2");
    unknown.insert(finding.rule());
  }
  EXPECT_THAT(
      unknown,
      ElementsAre("duplicate_lid", "duplicate_node_guid", "duplicate_port_guid", "ib_width_full",
                  "lid_assigned", "node_guid_set", "pkey_full_member", "pkeys_distinct",
                  "pkeys_equal_on_rail", "port_guid_not_of_other_node", "sm_lid_equal_in_subnet",
                  "subnet_manager_known", "subnet_prefix_distinct", "subnet_prefix_equal_on_rail"));
}

TEST(Infiniband, SkipsRoceAndIwarp) {
  for (const auto make : {testing::RoceNode, testing::IwarpNode}) {
    auto nodes = Nodes(3, make);
    PortOf(nodes[1], 0).set_width(1);
    PortOf(nodes[1], 0).set_sm_lid(9);
    PortOf(nodes[1], 0).add_pkeys(0x7fff);
    DeviceOf(nodes[1], 0).set_node_guid("0000:0000:0000:0000");
    EXPECT_THAT(Failures(nodes), IsEmpty());
  }
}

TEST(SubnetPrefix, ComparesWithTheProfile) {
  v1::Expectations expect;
  expect.set_subnet_prefix("fec0:0000:0000:0001");
  const auto nodes = Nodes(2, testing::InfinibandNode, {.rails = 1});
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  EXPECT_EQ(evaluation.counts.fail(), 2U);
  EXPECT_EQ(evaluation.findings[0].remedies(0).command(),
            "smpquery -C mlx5_0 -P 1 -D nodedesc 0,1");
  EXPECT_THAT(evaluation.findings[0].remedies(1).note(),
              ::testing::HasSubstr("subnet_prefix 0xfec0000000000001"));
}

TEST(SubnetPrefixDistinct, RecognizesFabricsByTheirSubnetManagers) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  for (auto& node : nodes) PortOf(node, 1).set_sm_lid(9);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "subnet_prefix_distinct");
  EXPECT_EQ(finding.title(),
            "2 subnets have the default prefix, expected one at most: SM LID 1 on rail 0, "
            "SM LID 9 on rail 1");
  for (auto& node : nodes) PortOf(node, 1).set_subnet_prefix("fec0:0000:0000:0001");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PkeyFullMember, ComparesWithTheProfile) {
  v1::Expectations expect;
  expect.add_full_pkeys(0x0005);
  auto nodes = Nodes(3, testing::InfinibandNode, {.rails = 1});
  for (auto& node : nodes) PortOf(node, 0).add_pkeys(0x8005);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  PortOf(nodes[0], 0).set_pkeys(1, 0x0005);
  const v1::Finding limited = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(limited.title(),
            "P_Key 0x8005 is limited (bit 15 is not set), expected full membership");
  EXPECT_THAT(limited.remedies(0).note(), ::testing::HasSubstr("'0x505400fffe000001=full'"));
  PortOf(nodes[0], 0).mutable_pkeys()->RemoveLast();
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "P_Key 0x8005 is not in the table, expected full membership");
}

TEST(PkeysEqualOnRail, IgnoresTheOrder) {
  auto nodes = Nodes(3, testing::InfinibandNode, {.rails = 1});
  for (auto& node : nodes) PortOf(node, 0).add_pkeys(0x8005);
  PortOf(nodes[1], 0).set_pkeys(0, 0x8005);
  PortOf(nodes[1], 0).set_pkeys(1, 0xffff);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(IbMtuFull, FailsForEachPortOfASmallRail) {
  auto nodes = Nodes(2, testing::InfinibandNode, {.rails = 1});
  for (auto& node : nodes) PortOf(node, 0).set_active_mtu_bytes(2048);
  EXPECT_THAT(Failures(nodes), ElementsAre("ib_mtu_full n1/mlx5_0/1", "ib_mtu_full n2/mlx5_0/1"));
  v1::Expectations expect;
  expect.set_ib_mtu_bytes(2048);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  for (auto& node : nodes) PortOf(node, 0).set_max_mtu_bytes(2048);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "it cannot do more";
  for (auto& node : nodes) PortOf(node, 0).clear_max_mtu_bytes();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(VfPortUp, FollowsItsPhysicalFunction) {
  auto nodes = Nodes(1, testing::InfinibandNode);
  v1::RdmaDevice& vf = DeviceOf(nodes[0], 1);
  vf.mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  vf.mutable_function()->clear_role();
  v1::PciFunction& function = testing::FunctionAt(nodes[0], vf.pci_address());
  vf.set_pci_address("0000:17:00.1");
  function.set_address("0000:17:00.1");
  function.set_physical_function("0000:17:00.0");
  std::sort(nodes[0].mutable_pci_functions()->begin(), nodes[0].mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
  EXPECT_THAT(Failures(nodes), IsEmpty());
  PortOf(nodes[0], 1).set_state(v1::PORT_STATE_DOWN);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "vf_port_up");
  EXPECT_EQ(finding.title(), "port of a virtual function is DOWN, expected ACTIVE as n1/mlx5_0/1");
  EXPECT_EQ(finding.remedies(0).command(), "ip link show dev rail0") << "the index is not known";
  for (v1::PciFunction& each : *nodes[0].mutable_pci_functions())
    if (each.address() == "0000:17:00.0") each.set_sriov_vfs(1);
  EXPECT_EQ(TheFailure(nodes).remedies(0).command(), "ip link set dev rail0 vf 0 state auto");
  vf.clear_node_guid();
  EXPECT_THAT(Failures(nodes), ElementsAre("vf_port_up n1/mlx5_1/1")) << "not read";
  vf.set_node_guid("0000:0000:0000:0000");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not assigned";
}

TEST(VfPortUp, IsUnknownWithoutTheStateOrTheFunction) {
  auto nodes = Nodes(1, testing::InfinibandNode);
  v1::RdmaDevice& vf = DeviceOf(nodes[0], 1);
  vf.mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  vf.mutable_function()->clear_role();
  v1::PciFunction& function = testing::FunctionAt(nodes[0], vf.pci_address());
  function.set_physical_function("0000:17:00.0");
  PortOf(nodes[0], 1).clear_state();
  EXPECT_THAT(Unknowns(nodes), ElementsAre("vf_port_up n1/mlx5_1/1"));
  PortOf(nodes[0], 1).set_state(v1::PORT_STATE_ACTIVE);
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
  PortOf(nodes[0], 1).set_state(v1::PORT_STATE_DOWN);
  vf.set_pci_address("0000:99:00.1");
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("vf_port_up n1/mlx5_1/1"));
  PortOf(nodes[0], 1).set_state(v1::PORT_STATE_ACTIVE);
  EXPECT_THAT(Unknowns(nodes), ::testing::Not(::testing::Contains("vf_port_up n1/mlx5_1/1")))
      << "it is up, and the state of its physical function does not matter";
}

TEST(IpoibNetdevUp, FailsForTheOneThatIsDownUnderAnActivePort) {
  auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 4, .gpu = false});
  testing::NetdevOf(nodes[0], 2).set_oper_state(v1::OPER_STATE_DOWN);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "ipoib_netdev_up");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_WARNING);
  EXPECT_EQ(finding.title(), "IPoIB netdev rail2 is down, expected up: its port is ACTIVE");
  EXPECT_EQ(finding.evidence(0).basis(), "3 of 4 IPoIB netdevs of the node are up");
  for (const std::uint32_t rail : {0U, 1U})
    testing::NetdevOf(nodes[0], rail).set_oper_state(v1::OPER_STATE_DOWN);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "IPoIB on one port only";
}

TEST(IpoibNetdevUp, ComparesWithTheRail) {
  auto nodes = Nodes(4, testing::InfinibandNode, {.rails = 2, .gpu = false});
  for (auto& node : nodes) testing::NetdevOf(node, 1).set_oper_state(v1::OPER_STATE_DOWN);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "down on all nodes";
  testing::NetdevOf(nodes[1], 0).set_oper_state(v1::OPER_STATE_DOWN);
  EXPECT_THAT(Failures(nodes), ElementsAre("ipoib_netdev_up n2/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
