// Cards and GPUs that the PCI bus shows and RDMA or jobs do not: rdma_card_has_driver,
// rdma_card_has_device, gpu_has_driver
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FunctionOfGpu;
using testing::FunctionOfRail;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;

// What the machine shows after the card of a rail was unbound.
void UnbindRail(v1::NodeSnapshot& node, int rail) {
  FunctionOfRail(node, static_cast<std::uint32_t>(rail)).clear_driver();
  const std::string netdev = node.rdma_devices(rail).ports(0).netdev();
  node.mutable_rdma_devices()->DeleteSubrange(rail, 1);
  auto& netdevs = *node.mutable_net_interfaces();
  for (int i = netdevs.size(); i-- > 0;)
    if (netdevs[i].name() == netdev) netdevs.DeleteSubrange(i, 1);
}

v1::Gap& AddGapOf(v1::NodeSnapshot& node, const std::string& inspector, const std::string& path) {
  v1::Gap& gap = *node.add_gaps();
  gap.set_inspector(inspector);
  gap.set_path(path);
  gap.set_code(v1::GAP_CODE_NOT_FOUND);
  gap.set_reason("gone");
  return gap;
}

TEST(RdmaCardHasDriver, FailsForTheUnboundCardAmongOthers) {
  auto nodes = Nodes(1, RoceNode, {.rails = 12, .gpu = false});
  FunctionOfRail(nodes[0], 4).set_slot("5");
  const std::string address = FunctionOfRail(nodes[0], 4).address();
  UnbindRail(nodes[0], 4);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rdma_card_has_driver");
  EXPECT_EQ(finding.title(),
            Format("1 RDMA card without a driver, expected mlx5_core: {} in slot 5", address));
  EXPECT_EQ(finding.evidence(0).source(), Format("sys/bus/pci/devices/{}/driver", address));
  EXPECT_EQ(finding.remedies(1).command(), Format("echo {} > /sys/bus/pci/drivers_probe", address));
}

TEST(RdmaCardHasDriver, FailsOnANodeWithoutAnyRdmaDevice) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2, .gpu = false});
  UnbindRail(nodes[0], 1);
  UnbindRail(nodes[0], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_card_has_driver n1"));
}

TEST(RdmaCardHasDriver, ExplainsTheMissingPort) {
  auto nodes = Nodes(4, RoceNode, {.rails = 4, .gpu = false});
  UnbindRail(nodes[2], 3);
  const Evaluation judged = JudgeWithCauses(nodes);
  for (const v1::Finding& finding : judged.findings)
    if (finding.verdict() == v1::VERDICT_FAIL) {
      EXPECT_EQ(finding.explained_by().empty(), finding.rule() == "rdma_card_has_driver");
    }
}

TEST(RdmaCardHasDriver, IsUnknownWhereACaptureLacksTheDriver) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2, .gpu = false});
  const std::string address = FunctionOfRail(nodes[0], 1).address();
  FunctionOfRail(nodes[0], 1).clear_driver();
  AddGapOf(nodes[0], "pci_functions", Format("sys/bus/pci/devices/{}/driver", address));
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), Contains("rdma_card_has_driver n1"));
}

TEST(RdmaCardHasDevice, FailsForAnEthernetCardThatLostItsRdmaSide) {
  auto nodes = Nodes(1, RoceNode, {.rails = 4, .gpu = false});
  nodes[0].mutable_rdma_devices()->DeleteSubrange(2, 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rdma_card_has_device");
  EXPECT_THAT(finding.title(), HasSubstr("1 RDMA card without an RDMA device"));
  EXPECT_THAT(finding.remedies(1).command(), HasSubstr("modprobe mlx5_ib"));
}

// RDMA is a setting of other drivers: only an equal card shows that it is expected.
TEST(RdmaCardHasDevice, ComparesCardsOfOtherDriversWithTheirEquals) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2, .gpu = false});
  for (const std::uint32_t rail : {0U, 1U}) {
    FunctionOfRail(nodes[0], rail).set_driver("ice");
    FunctionOfRail(nodes[0], rail).set_vendor_id("8086");
    FunctionOfRail(nodes[0], rail).set_device_id("1592");
  }
  v1::PciFunction& other = FunctionOfRail(nodes[0], 1);
  const std::string netdev = nodes[0].rdma_devices(1).ports(0).netdev();
  nodes[0].mutable_rdma_devices()->DeleteSubrange(1, 1);
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_card_has_device n1"));
  other.set_device_id("159b");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "a card for management";
  other.set_device_id("1592");
  for (v1::NetInterface& each : *nodes[0].mutable_net_interfaces())
    if (each.name() == netdev) each.set_master("bond0");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "ice has no RDMA on members of a bond";
}

TEST(RdmaCardHasDevice, SkipsPassedThroughCardsAndSecondFunctionsOfABond) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2, .gpu = false});
  v1::PciFunction& second = FunctionOfRail(nodes[0], 1);
  nodes[0].mutable_rdma_devices()->DeleteSubrange(1, 1);
  second.set_driver("vfio-pci");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  second.set_driver("mlx5_core");
  second.set_address("0000:17:00.1");
  nodes[0].mutable_rdma_devices(0)->mutable_function()->set_kind(v1::FUNCTION_KIND_BOND);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RdmaCardHasDevice, IsUnknownWhereDevicesCanBeInOtherNamespaces) {
  auto nodes = Nodes(1, RoceNode, {.rails = 2, .gpu = false});
  nodes[0].mutable_rdma_devices()->DeleteSubrange(1, 1);
  nodes[0].mutable_host()->set_rdma_netns_mode(v1::RDMA_NETNS_MODE_EXCLUSIVE);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), Contains("rdma_card_has_device n1"));
}

TEST(GpuHasDriver, FailsForTheGpuWithoutOne) {
  auto nodes = Nodes(1, RoceNode);
  const std::string address = nodes[0].gpus(0).pci_address();
  nodes[0].mutable_gpus(0)->clear_driver();
  FunctionOfGpu(nodes[0]).clear_driver();
  const Evaluation judged = Judge(nodes);
  const auto found =
      std::find_if(judged.findings.begin(), judged.findings.end(),
                   [](const v1::Finding& finding) { return finding.rule() == "gpu_has_driver"; });
  ASSERT_NE(found, judged.findings.end());
  EXPECT_EQ(found->title(), Format("1 GPU without a compute driver, expected nvidia: {}", address));
  nodes[0].mutable_gpus(0)->set_driver("nouveau");
  EXPECT_THAT(Failures(nodes), Contains("gpu_has_driver n1")) << "a driver for displays";
  nodes[0].mutable_gpus(0)->clear_driver();
  nodes[0].mutable_host()->set_virtualization("kvm");
  nodes[0].mutable_peer_memory()->clear_gpu_driver();
  EXPECT_THAT(Failures(nodes), ::testing::Not(Contains("gpu_has_driver n1"))) << "a guest";
  nodes[0].mutable_host()->set_virtualization("none");
  FunctionOfGpu(nodes[0]).set_class_code("030000");
  EXPECT_THAT(Failures(nodes), ::testing::Not(Contains("gpu_has_driver n1"))) << "a console";
}

}  // namespace
}  // namespace fabric::rules
