// UNKNOWN where an input of a rule is missing, nothing where the input cannot exist, and what the
// verdicts cover.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using ::testing::Not;
using Node = v1::NodeSnapshot;

v1::Gap& AddUnread(Node& node, const std::string& inspector, const std::string& path,
                   v1::GapCode code) {
  v1::Gap& gap = *node.add_gaps();
  gap.set_inspector(inspector);
  gap.set_path(path);
  gap.set_code(code);
  gap.set_reason("no answer");
  return gap;
}

TEST(AllRules, DeclareWhatTheyRead) {
  // Each of these reports UNKNOWN itself, or judges the absence of a value.
  const std::set<std::string_view> own = {
      "bond_hash_policy", "bond_member_speeds_equal", "bond_within_one_card", "roce_lag_formed",
      "drivers_answer", "peermem_loaded", "pfc_covers_roce_dscp", "rdma_port_has_netdev",
      "software_rdma_with_hardware", "vf_port_up", "pcie_upstream_covers_nics",
      "fabric_card_present", "gpu_has_driver", "node_connected", "rdma_card_has_device",
      "rdma_card_has_driver", "rdma_device_present", "roce_vlan_expected",
      // The controller reports them.
      "probe_blame", "controller_files_accepted", "controller_certificates_current",
      // Judge the session of the agent, which the controller knows.
      "agent_over_budget", "node_claimed_twice",
      // Compares only the netdevs whose state is reported: IPoIB is optional.
      "ipoib_netdev_up",
      // Other rules report their inputs: roce_v2_gid_present and pfc_equal_on_rail.
      "duplicate_gid", "gid_family_expected", "gid_index_equal_on_rail", "lossless_class_somewhere",
      "lossless_class_equal_between_rails", "pfc_on_data_priority", "pfc_within_capability",
      // An entry that was not set is absent.
      "roce_app_priority_has_pfc", "vlan_egress_priority", "traffic_class_carries_data_dscp"};
  for (const Rule* rule : AllRules())
    EXPECT_EQ(rule->reads.empty(), rule->single_node_only || own.contains(rule->id)) << rule->id;
}

TEST(AcsOff, IsUnknownWhenTheRegistersOfABridgeCouldNotBeRead) {
  auto nodes = Nodes(1, testing::RoceNode);
  for (v1::GpuNicPath& path : *nodes[0].mutable_gpu_nic_paths()) {
    path.set_distance(v1::PCI_DISTANCE_PIX);
    path.set_acs_known(false);
  }
  EXPECT_THAT(Unknowns(nodes), ElementsAre("acs_off_between_gpu_and_nic n1"));
  nodes[0].mutable_gpu_nic_paths(0)->add_acs_redirects("0000:00:17.0");
  EXPECT_THAT(Failures(nodes), ElementsAre("acs_off_between_gpu_and_nic n1"));
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(AcsOff, DoesNotDependOnRegistersAboveOtherNics) {
  auto nodes = Nodes(1, testing::RoceNode);
  nodes[0].mutable_gpu_nic_paths(0)->set_distance(v1::PCI_DISTANCE_PIX);
  nodes[0].mutable_gpu_nic_paths(1)->set_acs_known(false);
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(MissingField, IsUnknownWithTheReasonOfTheGap) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::FunctionOfRail(nodes[1], 0).clear_relaxed_ordering();
  AddUnread(nodes[1], "pci_functions", "sys/bus/pci/devices/*/config",
            v1::GAP_CODE_PERMISSION_DENIED);
  const Evaluation evaluation = Judge(nodes);
  ASSERT_EQ(evaluation.findings.size(), 1U);
  EXPECT_EQ(evaluation.findings[0].rule(), "pcie_relaxed_ordering_equal");
  EXPECT_EQ(evaluation.findings[0].title(), "PCIe relaxed ordering could not be read: no answer");
}

TEST(MissingField, DoesNotApplyWhereTheDriverHasNone) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::FunctionOfRail(nodes[1], 0).clear_relaxed_ordering();
  AddUnread(nodes[1], "pci_functions", "sys/bus/pci/devices/*/config", v1::GAP_CODE_NOT_FOUND);
  EXPECT_THAT(Judge(nodes).findings, IsEmpty());
}

TEST(MissingField, OfAPortThatIsDownOrUnusedIsNotUnknown) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::LinkDown(nodes[1], 0);
  testing::FunctionOfRail(nodes[1], 0).clear_relaxed_ordering();
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

struct ExpectedRow {
  const char* rule;
  void (*expect)(v1::Expectations&);
  void (*clear)(Node&);
};

constexpr ExpectedRow kExpectedRows[] = {
    {"link_rate_expected", [](v1::Expectations& e) { e.set_rate_bps(1); },
     [](Node& n) {
       testing::NetdevOf(n, 0).clear_speed_bps();
       testing::PortOf(n, 0).clear_rate_bps();
     }},
    {"iommu_passes_through", [](v1::Expectations& e) { e.set_iommu_type("identity"); },
     [](Node& n) {
       for (auto& function : *n.mutable_pci_functions()) function.clear_iommu_type();
     }},
    {"firmware_equal", [](v1::Expectations& e) { e.set_firmware("28.39.1002"); },
     [](Node& n) { testing::DeviceOf(n, 0).clear_firmware(); }},
    {"pcie_read_request_equal", [](v1::Expectations& e) { e.set_max_read_request_bytes(512); },
     [](Node& n) { testing::FunctionOfRail(n, 0).clear_max_read_request_bytes(); }},
    {"pcie_relaxed_ordering_equal", [](v1::Expectations& e) { e.set_relaxed_ordering(true); },
     [](Node& n) { testing::FunctionOfRail(n, 0).clear_relaxed_ordering(); }},
    {"pcie_ats_equal", [](v1::Expectations& e) { e.set_ats(false); },
     [](Node& n) { testing::FunctionOfRail(n, 0).clear_ats_capable(); }},
    {"global_pause_equal_on_rail",
     [](v1::Expectations& e) {
       e.set_global_pause(false);
       e.set_lossless(false);
     },
     [](Node& n) {
       testing::SetPfc(n, 0, 0);
       testing::NetdevOf(n, 0).clear_global_pause();
     }},
    {"ecn_notified_on_data_priority", [](v1::Expectations& e) { e.set_ecn(true); },
     [](Node& n) { testing::NetdevOf(n, 0).clear_congestion_control(); }},
    {"cnp_dscp_equal", [](v1::Expectations& e) { e.set_cnp_dscp(48); },
     [](Node& n) { testing::NetdevOf(n, 0).clear_congestion_control(); }},
    {"trust_equal_on_rail", [](v1::Expectations& e) { e.set_trust(v1::TRUST_DSCP); },
     [](Node& n) { testing::NetdevOf(n, 0).mutable_dcb()->clear_trust(); }},
    {"driver_version_equal", [](v1::Expectations& e) { e.set_driver_version("23.10"); },
     [](Node&) {}},
    {"clock_offset", [](v1::Expectations& e) { e.set_time_offset_max_us(100'000); },
     [](Node& n) { n.mutable_time_sync()->clear_offset_seconds(); }},
};

TEST(ExpectedValue, IsUnknownWhereItIsNotReported) {
  for (const ExpectedRow& row : kExpectedRows) {
    auto nodes = Nodes(1, testing::RoceNode);
    row.clear(nodes[0]);
    v1::Expectations expectations;
    row.expect(expectations);
    EXPECT_THAT(Unknowns(nodes, Expecting(expectations)), Contains(HasSubstr(row.rule)));
  }
}

TEST(ExpectedValue, OfPKeysAndLanesIsUnknownOnInfiniband) {
  auto nodes = Nodes(1, testing::InfinibandNode);
  testing::PortOf(nodes[0], 0).clear_pkeys();
  testing::PortOf(nodes[0], 1).clear_width();
  v1::Expectations expectations;
  expectations.add_full_pkeys(0x7fff);
  expectations.set_width(4);
  const auto unknown = Unknowns(nodes, Expecting(expectations));
  EXPECT_THAT(unknown, Contains("pkey_full_member n1/mlx5_0/1"));
  EXPECT_THAT(unknown, Contains("link_rate_expected n1/mlx5_1/1"));
}

TEST(RoceMode, IsUnknownWithoutFlowControlWhereTheDriverDoesNotReportEcn) {
  auto nodes = Nodes(1, testing::RoceNode);
  testing::SetPfc(nodes[0], 0, 0);
  testing::NetdevOf(nodes[0], 0).clear_congestion_control();
  EXPECT_THAT(Unknowns(nodes), Contains("roce_mode_defined n1/mlx5_0/1"));
}

TEST(DriversAnswer, FailsOnANodeWithoutPortsWhoseInspectionHangs) {
  Node node;
  node.mutable_node()->set_name("n1");
  AddUnread(node, "rdma_devices", "", v1::GAP_CODE_DEADLINE_EXCEEDED);
  EXPECT_THAT(Failures({node}), ElementsAre("drivers_answer n1"));
}

TEST(DriversAnswer, IsUnknownWhereTheDevicesCouldNotBeRead) {
  for (const v1::GapCode code : {v1::GAP_CODE_RESOURCE_EXHAUSTED, v1::GAP_CODE_PERMISSION_DENIED}) {
    Node node;
    node.mutable_node()->set_name("n1");
    AddUnread(node, "", "", code);
    const auto unknown = Unknowns({node});
    for (const char* rule : {"drivers_answer", "rdma_device_present", "clock_synchronized",
                             "kernel_release_equal", "sysctls_equal"})
      EXPECT_THAT(unknown, Contains(Format("{} n1", rule)));
    EXPECT_EQ(Judge({node}).counts.pass(), 0U);
  }
}

TEST(MissingField, OfANodeWithoutPortsIsUnknown) {
  auto nodes = Nodes(2, testing::RoceNode);
  nodes[1].clear_rdma_devices();
  nodes[1].clear_time_sync();
  AddUnread(nodes[1], "time_sync", "adjtimex", v1::GAP_CODE_PERMISSION_DENIED);
  EXPECT_THAT(Unknowns(nodes), Contains("clock_synchronized n2"));
}

TEST(MissingField, OfSeveralPortsForOneReasonIsOneUnknown) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  for (std::uint32_t rail = 0; rail < 8; ++rail) {
    v1::PciFunction& function = testing::FunctionOfRail(nodes[0], rail);
    function.clear_relaxed_ordering();
    AddUnread(nodes[0], "pci_functions",
              Format("sys/bus/pci/devices/{}/config", function.address()),
              v1::GAP_CODE_PERMISSION_DENIED);
  }
  const Evaluation evaluation = Judge(nodes);
  ASSERT_EQ(evaluation.findings.size(), 1U);
  const v1::Finding& finding = evaluation.findings[0];
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_NODE);
  EXPECT_EQ(finding.title(), "PCIe relaxed ordering could not be read: no answer");
  EXPECT_EQ(finding.affected_size(), 8);
  ASSERT_EQ(finding.evidence_size(), 8);
  EXPECT_NE(finding.evidence(0).source(), finding.evidence(7).source());
}

TEST(PcieBandwidth, FailsByTheLinkItselfWhereTheSlotIsNotKnown) {
  auto nodes = Nodes(1, testing::RoceNode);
  v1::PciFunction& function = testing::FunctionOfRail(nodes[0], 0);
  function.clear_slot_max();
  *function.mutable_link() = testing::Link(8, 8);
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_bandwidth_covers_port n1/mlx5_0/1"));
  EXPECT_THAT(Unknowns(nodes), Contains("pcie_link_width_as_capable n1/mlx5_0/1"));
  *function.mutable_link() = testing::Link(16, 16);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("pcie_link_speed_as_capable n1/mlx5_0/1"));
  *function.mutable_link() = testing::Link(32, 16);
  EXPECT_THAT(Judge(nodes).findings, IsEmpty());
}

TEST(PortActive, InitImpliesALink) {
  auto nodes = Nodes(1, testing::InfinibandNode);
  testing::PortOf(nodes[0], 0).set_state(v1::PORT_STATE_INIT);
  testing::PortOf(nodes[0], 0).clear_physical_state();
  testing::NetdevOf(nodes[0], 0).clear_addresses();
  EXPECT_THAT(Failures(nodes), Contains("port_active n1/mlx5_0/1"));
}

TEST(PortActive, FailsForAPortThatTheProfileCounts) {
  auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 8, .gpu = false});
  testing::LinkDown(nodes[0], 3);
  testing::NetdevOf(nodes[0], 3).clear_addresses();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expectations;
  expectations.set_fabric_ports(8);
  EXPECT_THAT(Failures(nodes, Expecting(expectations)), ElementsAre("port_active n1/mlx5_3/1"));
}

// As cards leave the factory: trust in PCP, global pause, MTU 1500, no PFC.
std::vector<Node> FactoryFleet() {
  auto nodes = Nodes(3, testing::RoceNode);
  for (Node& node : nodes) {
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::TrustPcp(node, rail);
      testing::SetPfc(node, rail, 0);
      testing::SetMtu(node, rail, 1500);
      testing::NetdevOf(node, rail).mutable_global_pause()->set_rx(true);
      testing::NetdevOf(node, rail).mutable_global_pause()->set_tx(true);
    }
  }
  return nodes;
}

TEST(FactorySettings, AreNotAllGreen) {
  const auto failures = Failures(FactoryFleet());
  EXPECT_THAT(failures, Contains("lossless_class_somewhere fleet"));
  EXPECT_THAT(failures, Contains("rdma_mtu_of_fast_link n1/mlx5_0/1"));
}

TEST(LosslessClass, IsNotWantedWhereAProfileOrTheSettingsSayLossy) {
  auto nodes = FactoryFleet();
  v1::Expectations expectations;
  expectations.set_lossless(false);
  EXPECT_THAT(Failures(nodes, Expecting(expectations)),
              Not(Contains("lossless_class_somewhere fleet")));
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::NetdevOf(node, rail).mutable_dcb()->set_trust(v1::TRUST_DSCP);
      testing::NetdevOf(node, rail).mutable_global_pause()->Clear();
    }
  EXPECT_THAT(Failures(nodes), Not(Contains("lossless_class_somewhere fleet")));
}

TEST(LosslessClass, IsNotJudgedWithoutGpusAndOnSoftware) {
  auto nodes = FactoryFleet();
  for (Node& node : nodes) node.clear_gpus();
  EXPECT_THAT(Failures(nodes), Not(Contains("lossless_class_somewhere fleet")));
  nodes = Nodes(3, testing::LabNode);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) testing::SetPfc(node, rail, 0);
  EXPECT_THAT(Failures(nodes), Not(Contains("lossless_class_somewhere fleet")));
}

TEST(RdmaMtuOfFastLink, IsJudgedFrom100GigabitsOnOnly) {
  auto nodes = FactoryFleet();
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      testing::NetdevOf(node, rail).set_speed_bps(25'000'000'000);
  EXPECT_THAT(Failures(nodes), Not(Contains(HasSubstr("rdma_mtu_of_fast_link"))));
}

}  // namespace
}  // namespace fabric::rules
