// Remedies that are safe to type: each test is a mistake that was once made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/remedies.h"
#include "tests/unit/rules/judged.h"
#include "tests/unit/rules/safe_remedies.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using ::testing::Not;
using testing::PortOf;
using Fleet = std::vector<v1::NodeSnapshot>;

// A command that changes something cannot be made without its effects.
static_assert(!std::is_default_constructible_v<Stated<std::string>>);
static_assert(!std::is_default_constructible_v<ChangeText>);
static_assert(!std::is_default_constructible_v<QueryText>);

std::vector<std::string> Commands(const v1::Finding& finding) {
  std::vector<std::string> commands;
  for (const v1::Remedy& remedy : finding.remedies())
    if (!remedy.command().empty()) commands.push_back(remedy.command());
  return commands;
}

std::string Notes(const v1::Finding& finding) {
  std::string notes;
  for (const v1::Remedy& remedy : finding.remedies()) notes += remedy.note() + "\n";
  return notes;
}

const v1::Finding* FindingOf(const Evaluation& evaluation, std::string_view rule) {
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule() == rule && finding.verdict() == v1::VERDICT_FAIL) return &finding;
  return nullptr;
}

v1::Finding WithRemedy(v1::Remedy remedy) {
  v1::Finding finding;
  finding.set_rule("rule");
  finding.mutable_subject()->set_node("n1");
  finding.mutable_subject()->set_device("bnxt_re0");
  SetHost("n1", remedy);
  *finding.add_remedies() = std::move(remedy);
  return finding;
}

// The check that all tests of rules use finds each kind of mistake.
TEST(RemedyMistakes, NamesWhatIsWrong) {
  Fleet nodes = Nodes(1, testing::BnxtNode);
  nodes[0].mutable_node()->set_kernel_release("6.8.0-1019-nvidia-64k.aarch64");
  struct Case {
    const char* command;
    const char* mistake;
  };
  for (const Case& bad :
       {Case{"ip link set dev NETDEV up", "placeholder NETDEV"},
        Case{"smpquery -C bnxt_re0 -P 1 pkeys LID 1", "placeholder LID"},
        Case{"ip link set dev eth0 vf N state auto", "placeholder N"},
        Case{"dcb ets set dev eth0 tc-bw 3:50 ...", "placeholder ..."},
        Case{"cat <file>", "placeholder <file>"}, Case{"ip link set dev  up", "empty name"},
        Case{"sminfo", "sminfo without -C DEVICE -P PORT"},
        Case{"sminfo -C bnxt_re0 -P 1; perfquery -x 5 1", "perfquery without -C DEVICE -P PORT"},
        Case{"ibstat", "ibstat without device and port"},
        Case{"mlnx_qos -i eth0 --pfc 0", "mlnx_qos for a card of another vendor"},
        Case{"ip address flush dev eth0", "removes all addresses"},
        Case{"dcb buffer set dev eth0 prio-buffer all:0", "stops the driver's buffers"},
        Case{"grubby --update-kernel=ALL --args='iommu=pt'", "a parameter of x86 on arm64"}}) {
    const auto mistakes = RemedyMistakes(WithRemedy(Query({.command = bad.command})), nodes);
    EXPECT_THAT(mistakes, ::testing::Contains(HasSubstr(bad.mistake))) << bad.command;
  }
  v1::Remedy silent;
  silent.set_command("reboot");
  EXPECT_THAT(RemedyMistakes(WithRemedy(silent), nodes),
              ElementsAre(HasSubstr("affects not stated"), HasSubstr("persistence not stated"),
                          HasSubstr("undo not stated")));
  EXPECT_THAT(RemedyMistakes(WithRemedy(Query({.command = "sminfo -C bnxt_re0 -P 1"})), nodes),
              IsEmpty());
}

TEST(Remedy, StatesItsEffects) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  testing::SetMtu(nodes[1], 0, 1500);
  const v1::Remedy remedy = TheFailure(nodes).remedies(0);
  EXPECT_EQ(remedy.host(), "n2");
  EXPECT_EQ(remedy.affects(), v1::REMEDY_REACH_PORT);
  EXPECT_EQ(remedy.interrupts(), kInterruptsQueues);
  EXPECT_EQ(remedy.persistence(), v1::REMEDY_PERSISTENCE_UNTIL_REBOOT);
  EXPECT_EQ(remedy.persist(), kInNetworkConfiguration);
  EXPECT_EQ(remedy.undo(), "ip link set dev rail0 mtu 1500");
}

// Two nodes are no majority: both values are offered, each for the other node.
TEST(Remedy, OffersBothValuesOfTwoNodes) {
  Fleet nodes = Nodes(2, testing::RoceNode);
  testing::SetMtu(nodes[0], 0, 1500);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "values of netdev MTU differ: 1500 on n1; 9000 on n2");
  ASSERT_EQ(finding.remedies_size(), 2);
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail0 mtu 1500");
  EXPECT_EQ(finding.remedies(0).host(), "n2");
  EXPECT_EQ(finding.remedies(1).command(), "ip link set dev rail0 mtu 9000");
  EXPECT_EQ(finding.remedies(1).host(), "n1");
  EXPECT_THAT(finding.remedies(1).note(), HasSubstr("9000 on n2"));
}

TEST(Remedy, NamesTheNodeWhereTheSubjectDoesNot) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  testing::SetAddress(nodes[2], 0, "10.10.0.1");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "duplicate_gid");
  EXPECT_EQ(finding.subject().node(), "");
  EXPECT_EQ(finding.remedies(0).host(), "n3");
}

TEST(KernelParameters, FitDistributionAndArchitecture) {
  v1::NodeSnapshot node = testing::RoceNode({});
  node.mutable_host()->clear_distribution_id();
  EXPECT_EQ(AddKernelParameters(node, "pci=noats").command(), "") << "unknown boot loader";
  node.mutable_host()->set_distribution_id("ubuntu");
  EXPECT_THAT(AddKernelParameters(node, "pci=noats").command(), HasSubstr("update-grub"));
  EXPECT_THAT(RemoveKernelParameters(node, "pci=noats").command(), HasSubstr("update-grub"));
  node.mutable_host()->set_distribution_id("rocky");
  const v1::Remedy add = AddKernelParameters(node, "pci=noats");
  EXPECT_EQ(add.command(), "grubby --update-kernel=ALL --args='pci=noats'");
  EXPECT_THAT(add.undo(), HasSubstr("--remove-args='pci=noats'"));
  node.mutable_node()->set_kernel_release("5.14.0-427.el9.x86_64");
  EXPECT_EQ(PassthroughParameter(node), "iommu=pt");
  node.mutable_node()->set_kernel_release("5.14.0-427.el9.aarch64+64k");
  EXPECT_EQ(PassthroughParameter(node), "iommu.passthrough=1");
  // Ubuntu's release has no architecture; /proc/version names the compiler.
  node.mutable_node()->set_kernel_release("6.8.0-1019-nvidia-64k");
  node.mutable_host()->set_kernel_version("Linux version 6.8.0 (aarch64-linux-gnu-gcc-13)");
  EXPECT_EQ(PassthroughParameter(node), "iommu.passthrough=1");
}

// A second assigned port makes a class of its own necessary: strict classes go before RoCE.
TEST(EtsStrict, NeedsAClassOfItsOwn) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  v1::Ets& ets = *NetdevOf(nodes[0], 0).mutable_dcb()->mutable_ets();
  ets.clear_priority_to_tc();
  ets.clear_tc_algorithm();
  ets.clear_tc_tx_bandwidth_percent();
  for (std::uint32_t i = 0; i < 8; ++i) {
    ets.add_priority_to_tc(i == 3 ? 3 : 0);
    ets.add_tc_algorithm(2);  // ETS
    ets.add_tc_tx_bandwidth_percent(i == 0 || i == 3 ? 50 : 0);
  }
  v1::Expectations expect;
  expect.set_cnp_priority(6);
  expect.set_cnp_strict(true);
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  const v1::Finding* const finding = FindingOf(evaluation, "cnp_class_is_strict");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(Commands(*finding), Each(Not(HasSubstr("0:strict"))));
  EXPECT_THAT(Commands(*finding), Each(HasSubstr("prio-tc 6:6 tc-tsa")));
  EXPECT_THAT(Commands(*finding), Each(HasSubstr(" 6:strict ")));
  EXPECT_THAT(Commands(*finding), Each(HasSubstr(" tc-bw 0:50 3:50")));
  EXPECT_THAT(finding->remedies(0).undo(), HasSubstr("prio-tc 6:0"));
}

// The classes of most guides (DSCP 26, traffic class 106) may be lossy ones here.
TEST(TrafficClass, IsTheOneOfTheFabric) {
  Fleet before = Nodes(1, testing::RoceNode, {.rails = 1});
  v1::NetInterface& netdev = NetdevOf(before[0], 0);
  testing::SetPfc(before[0], 0, 0x80);
  const fleet::NodeRecord record{.name = "n1", .snapshot = before[0]};
  const fleet::FleetView view(std::span(&record, 1), {});
  const fleet::PortView& port = view.nodes()[0].ports[0];
  EXPECT_EQ(LosslessDscp(port), std::nullopt) << "any of 56 to 63";
  EXPECT_EQ(LosslessDscps(port), "56 to 63");
  for (std::uint32_t dscp = 56; dscp < 64; ++dscp)
    if (dscp != 59) netdev.mutable_dcb()->set_dscp_to_priority(static_cast<int>(dscp), 0);
  const fleet::NodeRecord one{.name = "n1", .snapshot = before[0]};
  const fleet::FleetView only(std::span(&one, 1), {});
  EXPECT_EQ(LosslessDscp(only.nodes()[0].ports[0]), 59U);
  v1::Expectations expect;
  expect.set_data_dscp(26);
  const fleet::FleetView profile(std::span(&one, 1), Expecting(expect));
  EXPECT_EQ(LosslessDscp(profile.nodes()[0].ports[0]), 59U) << "26 is lossy on this port";
}

TEST(DuplicateLid, StatesThatReassigningStopsTheSubnet) {
  Fleet nodes = Nodes(3, testing::InfinibandNode, {.rails = 1});
  PortOf(nodes[2], 0).set_lid(PortOf(nodes[0], 0).lid());
  const v1::Finding finding = TheFailure(nodes);
  ASSERT_EQ(finding.rule(), "duplicate_lid");
  const auto last = finding.remedies(finding.remedies_size() - 1);
  EXPECT_EQ(last.command(), "opensm --reassign_lids");
  EXPECT_EQ(last.affects(), v1::REMEDY_REACH_SUBNET);
  EXPECT_THAT(last.interrupts(), HasSubstr("all jobs"));
  EXPECT_EQ(last.host(), "the subnet manager");
}

TEST(PortActive, DoesNotOfferIpoibForAnInfinibandLink) {
  Fleet nodes = Nodes(3, testing::InfinibandNode, {.rails = 2});
  testing::LinkDown(nodes[1], 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_THAT(Commands(finding), Each(Not(HasSubstr("ip link"))));
  EXPECT_EQ(finding.remedies(0).command(), "ibstat mlx5_1 1");
}

void PassThrough(v1::NodeSnapshot& node, int gpus) {
  for (int i = 0; i < gpus; ++i) node.mutable_gpus(i)->set_driver("vfio-pci");
}

// 16 bridges, each with a redirect between its GPU and its NIC.
Fleet NodeWithRedirects(std::uint32_t bridges) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = bridges});
  nodes[0].clear_gpus();
  nodes[0].clear_gpu_nic_paths();
  for (std::uint32_t i = 0; i < bridges; ++i) {
    v1::Gpu& gpu = *nodes[0].add_gpus();
    gpu.set_pci_address(Format("0000:{:02x}:00.0", 0xc0 + i));
    gpu.set_vendor_id("10de");
    gpu.set_driver("nvidia");
    v1::GpuNicPath& path = *nodes[0].add_gpu_nic_paths();
    path.set_gpu(gpu.pci_address());
    path.set_device(Format("mlx5_{}", i));
    path.set_distance(v1::PCI_DISTANCE_PIX);
    path.set_acs_known(true);
    path.add_acs_redirects(Format("0000:{:02x}:01.0", 0xa0 + i));
  }
  return nodes;
}

TEST(AcsOff, NamesAllBridges) {
  const Evaluation evaluation = Judge(NodeWithRedirects(16));
  const v1::Finding* const finding = FindingOf(evaluation, "acs_off_between_gpu_and_nic");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->evidence_size(), 16);
  EXPECT_EQ(finding->remedies_size(), 16);
  EXPECT_TRUE(finding->remedies(0).weakens_isolation());
}

// ACS isolates virtual machines from each other.
TEST(AcsOff, LeavesAcsOnWhereDevicesArePassedThrough) {
  Fleet nodes = NodeWithRedirects(4);
  PassThrough(nodes[0], 1);
  const Evaluation some = Judge(nodes);
  const v1::Finding* const finding = FindingOf(some, "acs_off_between_gpu_and_nic");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(Commands(*finding), IsEmpty());
  EXPECT_THAT(Notes(*finding), HasSubstr("must stay on"));
  PassThrough(nodes[0], 4);
  const Evaluation all = Judge(nodes);
  EXPECT_EQ(FindingOf(all, "acs_off_between_gpu_and_nic"), nullptr);
}

TEST(RoceVlanExpected, FailsForAnotherVlan) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_vlan_id(100);
  v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "roce_vlan_expected");
  EXPECT_EQ(finding.title(), "VLAN of the RoCE address none, expected 100 (profile test)");
  v1::NetInterface& vlan = *nodes[0].add_net_interfaces();
  vlan.set_name("rail0.100");
  vlan.mutable_vlan()->set_id(100);
  vlan.mutable_vlan()->set_lower("rail0");
  vlan.set_mtu_bytes(9000);
  for (v1::Gid& gid : *PortOf(nodes[0], 0).mutable_gids()) gid.set_netdev("rail0.100");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  expect.set_vlan_id(200);
  finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(), "VLAN of the RoCE address 100, expected 200 (profile test)");
  for (v1::Gid& gid : *PortOf(nodes[0], 0).mutable_gids()) gid.clear_netdev();
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)),
              ::testing::Contains("roce_vlan_expected n1/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
