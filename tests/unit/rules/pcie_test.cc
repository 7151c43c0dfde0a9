// Links, slots, registers and errors of PCI Express (pcie_no_fatal_errors).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using testing::FunctionOfGpu;
using testing::FunctionOfRail;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;
using ::testing::SizeIs;

TEST(PcieLinkWidth, FailsForMissingLanes) {
  auto nodes = Nodes(3, RoceNode);
  *FunctionOfRail(nodes[1], 1).mutable_link() = testing::Link(32, 8);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_link_width_as_capable");
  EXPECT_EQ(finding.title(), "PCIe link of mlx5_1 (0000:18:00.0) has 8 lanes, expected 16");
  EXPECT_EQ(finding.subject().device(), "mlx5_1");
  EXPECT_EQ(finding.evidence(0).basis(), "the device can x16, the port above x16");
  EXPECT_EQ(finding.evidence(0).source(), "sys/bus/pci/devices/0000:18:00.0/current_link_width");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("lspci -vv -s 0000:18:00.0"));
}

TEST(PcieLinkWidth, ReportsAGpuForItsNode) {
  auto nodes = Nodes(1, RoceNode);
  *FunctionOfGpu(nodes[0]).mutable_link() = testing::Link(32, 4);
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_link_width_as_capable n1"));
}

TEST(PcieLinkWidth, PassesWithAllLanesOfTheSlot) {
  auto nodes = Nodes(1, RoceNode);
  v1::PciFunction& function = FunctionOfRail(nodes[0], 0);
  *function.mutable_link() = testing::Link(32, 8);
  *function.mutable_slot_max() = testing::Link(32, 8);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  *function.mutable_slot_max() = testing::Link(32, 16);
  function.clear_slot_max();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "a slot that is not known";
}

TEST(PcieLinkWidth, SkipsDownAndUnusedPorts) {
  auto nodes = Nodes(1, RoceNode);
  *FunctionOfRail(nodes[0], 0).mutable_link() = testing::Link(32, 8);
  v1::Expectations expect;
  expect.set_unused(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  testing::LinkDown(nodes[0], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/mlx5_0/1"));
}

TEST(PcieLinkSpeed, NamesBothSpeeds) {
  auto nodes = Nodes(2, RoceNode);
  *FunctionOfRail(nodes[1], 0).mutable_link() = testing::Link(16, 16);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_link_speed_as_capable");
  EXPECT_EQ(finding.title(),
            "PCIe link of mlx5_0 (0000:17:00.0) runs at 16 GT/s, expected 32 GT/s");
}

TEST(PcieLinkSpeed, SkipsGpus) {
  auto nodes = Nodes(3, RoceNode);
  for (auto& node : nodes) *FunctionOfGpu(node).mutable_link() = testing::Link(8, 16);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PcieLinkSpeed, ComparesOtherNicsWithTheirEquals) {
  auto nodes = Nodes(1, RoceNode, {.rails = 4, .gpu = false});
  for (std::uint32_t rail = 0; rail < 4; ++rail) FunctionOfRail(nodes[0], rail).set_driver("cxgb4");
  *FunctionOfRail(nodes[0], 2).mutable_link() = testing::Link(8, 16);
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_link_speed_as_capable n1/mlx5_2"));
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    *FunctionOfRail(nodes[0], rail).mutable_link() = testing::Link(8, 16);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PcieLink, GivesOneFindingForNarrowAndSlow) {
  auto nodes = Nodes(1, RoceNode);
  *FunctionOfRail(nodes[0], 0).mutable_link() = testing::Link(5, 4);
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_link_width_as_capable n1/mlx5_0"));
}

TEST(PcieBandwidth, FailsForASlotSlowerThanThePort) {
  auto nodes = Nodes(1, RoceNode);
  v1::PciFunction& function = FunctionOfRail(nodes[0], 0);
  *function.mutable_link() = testing::Link(8, 8);
  *function.mutable_slot_max() = testing::Link(8, 8);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_bandwidth_covers_port");
  EXPECT_EQ(finding.title(), "PCIe slot gives 63 Gb/s (8 GT/s x8), expected the port's 100 Gb/s");
  *function.mutable_slot_max() = testing::Link(16, 8);
  *function.mutable_link() = testing::Link(16, 8);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

// Socket Direct: one card, two functions, each on a PCIe link of its own processor.
TEST(PcieBandwidth, AddsTheLinksOfOneCard) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2});
  for (const std::uint32_t rail : {0u, 1u}) {
    v1::PciFunction& function = FunctionOfRail(nodes[0], rail);
    *function.mutable_link() = testing::Link(8, 8);
    *function.mutable_link_max() = testing::Link(8, 8);
    *function.mutable_slot_max() = testing::Link(8, 8);
    function.clear_path();
    function.add_path(rail == 0 ? "0000:16:01.0" : "0000:96:01.0");
    testing::DeviceOf(nodes[0], rail).set_sys_image_guid("1070:fd03:0000:0001");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  FunctionOfRail(nodes[0], 1).set_path(0, "0000:16:01.0");
  EXPECT_THAT(Failures(nodes), SizeIs(2)) << "functions on one link share its bandwidth";
  testing::DeviceOf(nodes[0], 1).set_sys_image_guid("1070:fd03:0000:0002");
  FunctionOfRail(nodes[0], 1).set_path(0, "0000:96:01.0");
  EXPECT_THAT(Failures(nodes), SizeIs(2)) << "two cards";
}

TEST(PcieBandwidth, DoesNotApplyToTheProcessorOfADpu) {
  auto nodes = Nodes(1, RoceNode, {.rails = 1});
  v1::PciFunction& function = FunctionOfRail(nodes[0], 0);
  *function.mutable_link() = testing::Link(8, 8);
  *function.mutable_link_max() = testing::Link(8, 8);
  *function.mutable_slot_max() = testing::Link(8, 8);
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_bandwidth_covers_port n1/mlx5_0/1"));
  nodes[0].mutable_host()->set_product("BlueField-3 DPU");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PcieBandwidth, UsesTheKernelLogWithoutLinkFiles) {
  auto nodes = Nodes(1, RoceNode);
  testing::Logged(nodes[0], "pcie",
                  "mlx5_core 0000:17:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 "
                  "GT/s PCIe x8 link at 0000:16:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe "
                  "x16 link)");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the link says otherwise";
  v1::PciFunction& function = FunctionOfRail(nodes[0], 0);
  function.clear_link();
  function.clear_slot_max();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_bandwidth_covers_port");
  EXPECT_THAT(finding.title(), HasSubstr("(8.0 GT/s PCIe x8)"));
  EXPECT_EQ(finding.evidence(0).source(), "kernel log");
}

TEST(PcieBandwidth, TakesTheDataRateOfOldInfinibandSpeeds) {
  for (const char* speed : {"QDR", ""}) {
    auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 1, .gpu = false});
    v1::Port& port = testing::PortOf(nodes[0], 0);
    port.set_rate_bps(40'000'000'000);
    port.set_width(4);
    port.clear_speed();
    if (*speed != '\0') port.set_speed(speed);
    v1::PciFunction& function = FunctionOfRail(nodes[0], 0);
    for (v1::PciLink* link :
         {function.mutable_link(), function.mutable_link_max(), function.mutable_slot_max()})
      *link = testing::Link(5, 8);
    EXPECT_THAT(Failures(nodes), IsEmpty()) << speed;
    port.set_speed("FDR");
    port.set_rate_bps(56'000'000'000);
    EXPECT_THAT(Failures(nodes), ElementsAre("pcie_bandwidth_covers_port n1/mlx5_0/1"));
  }
}

TEST(PcieReadRequest, FailsForAnotherSizeOnTheRail) {
  auto nodes = Nodes(3, RoceNode);
  FunctionOfRail(nodes[2], 0).set_max_read_request_bytes(512);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_read_request_equal");
  EXPECT_EQ(finding.title(),
            "PCIe maximum read request (bytes) 512, expected 4096 (2 of 3 nodes with server "
            "with ConnectX-7 PROTOCOL_ROCE on rail 0)");
  EXPECT_EQ(finding.remedies(0).command(), "setpci -s 0000:17:00.0 CAP_EXP+8.w=5000:7000");
}

TEST(PcieReadRequest, TakesTheProfileAsMinimum) {
  auto nodes = Nodes(1, RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_max_read_request_bytes(1024);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  FunctionOfRail(nodes[0], 0).set_max_read_request_bytes(512);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "PCIe maximum read request (bytes) 512, expected 1024 (profile test)");
  FunctionOfRail(nodes[0], 0).clear_max_read_request_bytes();
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(PcieRelaxedOrdering, FailsForAnotherSettingOnTheRail) {
  auto nodes = Nodes(3, RoceNode);
  FunctionOfRail(nodes[0], 1).set_relaxed_ordering(false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_relaxed_ordering_equal");
  EXPECT_EQ(finding.remedies(0).command(), "setpci -s 0000:18:00.0 CAP_EXP+8.w=10:0010");
  EXPECT_EQ(finding.remedies(1).platform(), "mlx5");
}

TEST(PcieAts, ComparesWithTheProfile) {
  auto nodes = Nodes(2, RoceNode, {.rails = 1});
  for (auto& node : nodes) FunctionOfRail(node, 0).set_ats_enabled(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_ats(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)),
              ElementsAre("pcie_ats_equal n1/mlx5_0/1", "pcie_ats_equal n2/mlx5_0/1"));
  FunctionOfRail(nodes[1], 0).clear_ats_enabled();
  EXPECT_THAT(TheFailure(nodes, Expecting(expect)).remedies(0).command(),
              HasSubstr("set ATS_ENABLED=false"));
}

TEST(PciePayload, ComparesEqualCardsOfTheNode) {
  auto nodes = Nodes(1, RoceNode, {.rails = 4, .gpu = false});
  FunctionOfRail(nodes[0], 3).set_max_payload_bytes(128);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_payload_equal_in_node");
  EXPECT_EQ(finding.title(), "PCIe packets of mlx5_3 carry 128 bytes, expected 256");
  FunctionOfRail(nodes[0], 3).set_max_payload_supported_bytes(128);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "it cannot more";
}

// Two cards below one switch: root port, upstream, two downstream ports.
void PutBehindOneSwitch(v1::NodeSnapshot& node, std::uint32_t lanes) {
  for (const std::uint32_t rail : {0U, 1U}) {
    auto& path = *FunctionOfRail(node, rail).mutable_path();
    path.Clear();
    *path.Add() = "0000:00:17.0";
    *path.Add() = "0000:16:00.0";
  }
  v1::PciFunction& bridge = *node.add_pci_functions();
  bridge.set_address("0000:16:00.0");
  bridge.set_class_code("060400");
  bridge.set_vendor_id("1000");
  bridge.add_path("0000:00:17.0");
  *bridge.mutable_link() = testing::Link(16, lanes);
  *bridge.mutable_link_max() = testing::Link(16, lanes);
  *bridge.mutable_slot_max() = testing::Link(16, lanes);
  std::sort(node.mutable_pci_functions()->begin(), node.mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
}

TEST(PcieUpstream, FailsForALinkTooSmallForTwoNics) {
  auto nodes = Nodes(1, RoceNode);
  PutBehindOneSwitch(nodes[0], 8);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pcie_upstream_covers_nics");
  EXPECT_EQ(finding.title(),
            "mlx5_0, mlx5_1 share a PCIe link of 126 Gb/s, expected the 200 Gb/s of their ports");
}

v1::PciFunction& AddPexBridge(v1::NodeSnapshot& node, const std::string& address,
                              std::vector<std::string> path, std::uint32_t lanes) {
  v1::PciFunction& bridge = *node.add_pci_functions();
  bridge.set_address(address);
  bridge.set_class_code("060400");
  bridge.set_vendor_id("1000");
  bridge.set_device_id("c030");
  bridge.mutable_path()->Add(path.begin(), path.end());
  for (v1::PciLink* link :
       {bridge.mutable_link(), bridge.mutable_link_max(), bridge.mutable_slot_max()})
    *link = testing::Link(16, lanes);
  return bridge;
}

void SortFunctions(v1::NodeSnapshot& node) {
  std::sort(node.mutable_pci_functions()->begin(), node.mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
}

// Two NICs below a Broadcom PEX switch: root port, upstream and downstream of one level, then of a
// second one, which is the same chip and reports a link of one lane.
TEST(PcieUpstream, TakesTwoLevelsOfABroadcomSwitchAsOne) {
  auto nodes = Nodes(1, RoceNode);
  v1::NodeSnapshot& node = nodes[0];
  std::vector<std::string> path = {"0000:00:17.0"};
  for (const char* address : {"0000:10:00.0", "0000:11:00.0", "0000:12:00.0"}) {
    AddPexBridge(node, address, path, address == std::string_view("0000:12:00.0") ? 1 : 16);
    path.push_back(address);
  }
  for (const std::uint32_t rail : {0U, 1U}) {
    FunctionOfRail(node, rail).clear_path();
    FunctionOfRail(node, rail).mutable_path()->Add(path.begin(), path.end());
  }
  SortFunctions(node);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (const char* address : {"0000:10:00.0", "0000:11:00.0", "0000:12:00.0"}) {
    v1::PciFunction& bridge = testing::FunctionAt(node, address);
    bridge.set_device_id("c010");
    bridge.set_subsystem_vendor_id("1000");
    bridge.set_subsystem_device_id("a032");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::FunctionAt(node, "0000:12:00.0").set_subsystem_device_id("0100");
  EXPECT_THAT(Failures(nodes), ElementsAre("pcie_upstream_covers_nics n1"))
      << "a switch of its own";
}

TEST(PcieUpstream, ReportsEachLinkThatIsTooSmall) {
  auto nodes = Nodes(1, RoceNode, {.rails = 4, .gpu = false});
  v1::NodeSnapshot& node = nodes[0];
  for (const std::uint32_t side : {0U, 1U}) {
    const std::string root = side == 0 ? "0000:00:17.0" : "0000:00:19.0";
    const std::string upstream = side == 0 ? "0000:10:00.0" : "0000:20:00.0";
    AddPexBridge(node, upstream, {root}, 8);
    for (const std::uint32_t rail : {2 * side, 2 * side + 1}) {
      auto& path = *FunctionOfRail(node, rail).mutable_path();
      path.Clear();
      *path.Add() = root;
      *path.Add() = upstream;
    }
  }
  SortFunctions(node);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("pcie_upstream_covers_nics n1", "pcie_upstream_covers_nics n1"));
}

TEST(PcieUpstream, SkipsSwitchesWithGpus) {
  auto nodes = Nodes(1, RoceNode);
  PutBehindOneSwitch(nodes[0], 16);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "wide enough";
  nodes = Nodes(1, RoceNode);
  PutBehindOneSwitch(nodes[0], 8);
  FunctionOfGpu(nodes[0]).add_path("0000:16:00.0");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PcieErrors, FailsForFatalErrors) {
  auto nodes = Nodes(2, RoceNode);
  FunctionOfRail(nodes[1], 1).set_aer_fatal(2);
  EXPECT_EQ(TheFailure(nodes).title(), "PCIe fatal errors of mlx5_1 (0000:18:00.0): 2, expected 0");
  FunctionOfRail(nodes[1], 1).clear_aer_fatal();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PcieErrors, FailsForMoreErrorsThanOnEquals) {
  auto nodes = Nodes(1, RoceNode, {.rails = 4, .gpu = false});
  FunctionOfRail(nodes[0], 0).set_aer_correctable(50'000);
  EXPECT_EQ(TheFailure(nodes).rule(), "pcie_errors_like_equals");
  FunctionOfRail(nodes[0], 1).set_aer_correctable(9'000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "another one has many too";
  FunctionOfRail(nodes[0], 2).set_aer_nonfatal(12);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "some come with booting";
}

}  // namespace
}  // namespace fabric::rules
