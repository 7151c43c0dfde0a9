// Paths between GPUs and NICs: peer memory, ACS, IOMMU, distance, gpu_window_not_small
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using testing::FunctionAt;
using testing::FunctionOfGpu;
using testing::FunctionOfRail;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;

void Redirect(v1::NodeSnapshot& node, int path, const std::string& bridge,
              v1::PciDistance distance) {
  v1::PciAcs& acs = *FunctionAt(node, bridge).mutable_acs();
  acs.set_control(0x1d);
  acs.set_redirects(true);
  node.mutable_gpu_nic_paths(path)->set_distance(distance);
  node.mutable_gpu_nic_paths(path)->add_acs_redirects(bridge);
}

TEST(AcsOff, FailsForBridgesBetweenGpuAndNic) {
  auto nodes = Nodes(2, RoceNode);
  Redirect(nodes[1], 0, "0000:00:17.0", v1::PCI_DISTANCE_PIX);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "acs_off_between_gpu_and_nic");
  EXPECT_EQ(finding.title(),
            "ACS redirects traffic between GPU and NIC on 1 bridge, expected none: 0000:00:17.0");
  EXPECT_EQ(finding.evidence(0).seen(), "ReqRedir, CmpltRedir, UpstreamFwd");
  EXPECT_EQ(finding.remedies(0).command(), "setpci -s 0000:00:17.0 ECAP_ACS+0x6.w=0000");
}

TEST(AcsOff, SkipsDistantPairsAndVirtualMachines) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].mutable_gpu_nic_paths(0)->set_distance(v1::PCI_DISTANCE_PIX);
  Redirect(nodes[0], 1, "0000:00:18.0", v1::PCI_DISTANCE_SYS);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the GPU has a nearer NIC";
  nodes = Nodes(1, RoceNode);
  Redirect(nodes[0], 0, "0000:00:17.0", v1::PCI_DISTANCE_PIX);
  nodes[0].mutable_host()->set_virtualization("kvm");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(AcsOff, FailsForARootPortWhenTheIommuTranslates) {
  auto nodes = Nodes(1, RoceNode);
  Redirect(nodes[0], 0, "0000:00:17.0", v1::PCI_DISTANCE_PHB);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  FunctionOfGpu(nodes[0]).set_iommu_type("DMA-FQ");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("acs_off_between_gpu_and_nic n1"));
}

TEST(AcsOff, TheNicSendsRequestsTooAndMayBeTranslated) {
  auto nodes = Nodes(1, RoceNode);
  Redirect(nodes[0], 0, "0000:00:17.0", v1::PCI_DISTANCE_PHB);
  FunctionOfRail(nodes[0], 0).set_iommu_type("DMA");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("acs_off_between_gpu_and_nic n1"));
}

// Adds a second GPU below a root port or a port of a switch of its own.
void AddGpu(v1::NodeSnapshot& node, const std::string& address, std::vector<std::string> path) {
  v1::Gpu gpu = node.gpus(0);
  v1::PciFunction function = FunctionOfGpu(node);
  gpu.set_pci_address(address);
  gpu.set_uuid("GPU-2");
  function.set_address(address);
  function.mutable_path()->Assign(path.begin(), path.end());
  *node.add_gpus() = gpu;
  *node.add_pci_functions() = function;
  for (v1::Gpu& each : *node.mutable_gpus()) each.set_nvlinks(0);
  std::ranges::sort(*node.mutable_pci_functions(), {}, &v1::PciFunction::address);
}

v1::PciFunction& AddPort(v1::NodeSnapshot& node, const std::string& address) {
  v1::PciFunction port = FunctionAt(node, FunctionOfGpu(node).path(0));
  port.set_address(address);
  port.mutable_acs()->set_redirects(true);
  port.mutable_acs()->set_control(0x1d);
  *node.add_pci_functions() = port;
  std::ranges::sort(*node.mutable_pci_functions(), {}, &v1::PciFunction::address);
  return FunctionAt(node, address);
}

TEST(AcsOff, FailsForASwitchBetweenGpusWithoutNvlink) {
  auto nodes = Nodes(1, RoceNode);
  const std::string root = FunctionOfGpu(nodes[0]).path(0);
  AddPort(nodes[0], "0000:a1:01.0");
  AddGpu(nodes[0], "0000:a2:00.0", {root, "0000:a1:01.0"});
  EXPECT_EQ(TheFailure(nodes).title(),
            "ACS redirects traffic between GPUs on 1 bridge, expected none: 0000:a1:01.0");
  nodes[0].mutable_gpus(0)->set_nvlinks(18);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "traffic takes NVLink";
  nodes[0].mutable_gpus(0)->set_nvlinks(0);
  FunctionAt(nodes[0], "0000:a1:01.0").clear_acs();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  FunctionAt(nodes[0], "0000:a1:01.0").clear_ats_capable();
  EXPECT_THAT(Unknowns(nodes), ElementsAre("acs_off_between_gpu_and_nic n1"));
}

// Two GPUs below root ports, no switch: redirection there sends traffic through the IOMMU, which
// passes it on with iommu=pt.
TEST(AcsOff, ARootPortBetweenGpusMattersWhereTheIommuTranslates) {
  auto nodes = Nodes(1, RoceNode);
  AddPort(nodes[0], "0000:00:1e.0");
  AddGpu(nodes[0], "0000:a2:00.0", {"0000:00:1e.0"});
  EXPECT_THAT(Failures(nodes), IsEmpty());
  FunctionAt(nodes[0], "0000:a2:00.0").set_iommu_type("DMA-FQ");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("acs_off_between_gpu_and_nic n1"));
  FunctionAt(nodes[0], "0000:a2:00.0").set_root_complex("pci0000:80");
  EXPECT_THAT(Failures(nodes),
              ::testing::Not(::testing::Contains("acs_off_between_gpu_and_nic n1")));
}

TEST(IommuPassesThrough, FailsWithGpusAndRdma) {
  auto nodes = Nodes(2, RoceNode);
  FunctionOfRail(nodes[0], 0).set_iommu_type("DMA");
  FunctionOfRail(nodes[0], 1).set_iommu_type("DMA");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "iommu_passes_through");
  EXPECT_EQ(finding.title(), "IOMMU type DMA, expected identity: 0000:17:00.0, 0000:18:00.0");
  EXPECT_EQ(finding.evidence(0).source(), "sys/kernel/iommu_groups/17/type");
}

// iommu=pt does not switch ACS off.
TEST(IommuPassesThrough, IsAnotherFaultThanRedirects) {
  auto nodes = Nodes(1, RoceNode);
  Redirect(nodes[0], 0, "0000:00:17.0", v1::PCI_DISTANCE_PIX);
  FunctionOfGpu(nodes[0]).set_iommu_type("DMA-FQ");
  EXPECT_THAT(Failures(nodes),
              ElementsAre("acs_off_between_gpu_and_nic n1", "iommu_passes_through n1"));
}

TEST(AcsOff, DoesNotApplyWhereAllGpusBelongToVirtualMachines) {
  auto nodes = Nodes(1, RoceNode);
  for (v1::Gpu& gpu : *nodes[0].mutable_gpus()) gpu.set_driver("vfio-pci");
  FunctionOfGpu(nodes[0]).set_driver("vfio-pci");
  FunctionOfGpu(nodes[0]).set_iommu_type("DMA-FQ");
  Redirect(nodes[0], 0, "0000:00:17.0", v1::PCI_DISTANCE_PIX);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  const auto judged = Judge(nodes).coverage.judged();
  EXPECT_THAT(judged, ::testing::Contains("iommu_passes_through"));
  EXPECT_THAT(judged, ::testing::Not(::testing::Contains("acs_off_between_gpu_and_nic")));
}

TEST(IommuPassesThrough, SkipsNodesWithoutGpusAndGuests) {
  auto nodes = Nodes(1, RoceNode, {.gpu = false});
  FunctionOfRail(nodes[0], 0).set_iommu_type("DMA");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = Nodes(1, RoceNode);
  FunctionOfGpu(nodes[0]).set_iommu_type("DMA");
  nodes[0].mutable_host()->set_virtualization("kvm");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(IommuPassesThrough, ComparesWithTheProfile) {
  auto nodes = Nodes(1, RoceNode, {.gpu = false});
  v1::Expectations expect;
  expect.set_iommu_type("DMA");
  nodes[0].mutable_host()->set_distribution_id("rocky");
  EXPECT_THAT(TheFailure(nodes, Expecting(expect)).remedies(0).command(), HasSubstr("remove"));
  for (const std::uint32_t rail : {0U, 1U}) FunctionOfRail(nodes[0], rail).set_iommu_type("DMA-FQ");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(PeermemLoaded, PassesWithDmaBuf) {
  auto nodes = Nodes(1, RoceNode);
  testing::UnloadPeermem(nodes[0]);
  v1::DmaBuf& dma_buf = *nodes[0].mutable_peer_memory()->mutable_dma_buf();
  dma_buf.set_reason("not known whether the NVIDIA module is the open one");
  EXPECT_THAT(TheFailure(nodes).evidence(1).seen(), HasSubstr("unknown: not known whether"));
  dma_buf.set_possible(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PeermemLoaded, PassesWithAProfileWithoutGpuDirect) {
  auto nodes = Nodes(1, RoceNode);
  testing::UnloadPeermem(nodes[0]);
  v1::Expectations expect;
  expect.set_gpudirect(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(PeermemBound, FailsForALoadedButUnregisteredModule) {
  auto nodes = Nodes(2, RoceNode);
  v1::PeerMemory& memory = *nodes[0].mutable_peer_memory();
  memory.set_bound_to_ib_core(false);
  memory.set_bound_reason("ib_core is not used by nvidia_peermem");
  memory.mutable_dma_buf()->set_possible(false);
  memory.mutable_dma_buf()->set_reason("the NVIDIA module is the closed one");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "peermem_bound");
  EXPECT_EQ(finding.title(),
            "nvidia_peermem is not registered with ib_core, expected registered: ib_core is not "
            "used by nvidia_peermem");
  memory.mutable_dma_buf()->set_possible(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PeermemBound, FailsForAmdGpusWithoutDmaBuf) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].mutable_gpus(0)->set_vendor_id("1002");
  nodes[0].mutable_gpus(0)->set_driver("amdgpu");
  testing::UnloadPeermem(nodes[0]);
  v1::PeerMemory& memory = *nodes[0].mutable_peer_memory();
  memory.set_bound_to_ib_core(false);
  memory.set_bound_reason("memory_peers does not list amdkfd");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "dma-buf may do";
  memory.mutable_dma_buf()->set_possible(false);
  EXPECT_THAT(Failures(nodes), ElementsAre("peermem_bound n1"));
  memory.clear_bound_to_ib_core();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not known";
}

TEST(PeermemOneModule, FailsWithTheOldModule) {
  auto nodes = Nodes(1, RoceNode);
  v1::PeerMemory& memory = *nodes[0].mutable_peer_memory();
  memory.set_nv_peer_mem_loaded(true);
  EXPECT_EQ(TheFailure(nodes).title(),
            "nv_peer_mem and nvidia_peermem loaded, expected nvidia_peermem alone");
  memory.set_nvidia_peermem_loaded(false);
  memory.mutable_gpu_driver()->set_version("450.80.02");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  memory.mutable_gpu_driver()->set_version("535.129.03");
  EXPECT_THAT(Failures(nodes), ElementsAre("peermem_one_module n1"));
}

TEST(GpuNearNic, ComparesWithTheProfile) {
  auto nodes = Nodes(1, RoceNode);
  v1::Expectations expect;
  expect.set_gpu_nic_distance_max(v1::PCI_DISTANCE_PXB);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "nearest NIC of GPU 0000:1b:00.0 is mlx5_0 at PHB (host bridge), expected PXB "
            "(several PCIe switches) or nearer");
  nodes[0].mutable_gpu_nic_paths(1)->set_distance(v1::PCI_DISTANCE_PIX);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  nodes[0].mutable_gpu_nic_paths(1)->set_distance(v1::PCI_DISTANCE_UNSPECIFIED);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "not known";
}

// Four GPUs, each with a NIC below its switch.
v1::NodeSnapshot FourGpus() {
  v1::NodeSnapshot node = RoceNode({.rails = 4, .gpu = false});
  node.clear_gpu_nic_paths();
  for (int g = 0; g < 4; ++g) {
    v1::Gpu& gpu = *node.add_gpus();
    gpu.set_pci_address("0000:" + std::to_string(40 + g) + ":00.0");
    gpu.set_vendor_id("1002");
    gpu.set_driver("amdgpu");
    for (int d = 0; d < 4; ++d) {
      v1::GpuNicPath& path = *node.add_gpu_nic_paths();
      path.set_gpu(gpu.pci_address());
      path.set_device(node.rdma_devices(d).name());
      path.set_distance(d == g ? v1::PCI_DISTANCE_PIX : v1::PCI_DISTANCE_NODE);
    }
  }
  return node;
}

TEST(GpuNearNic, ComparesWithTheOtherGpus) {
  v1::NodeSnapshot node = FourGpus();
  EXPECT_THAT(Failures({node}), IsEmpty());
  node.mutable_gpu_nic_paths(10)->set_distance(v1::PCI_DISTANCE_SYS);
  EXPECT_THAT(Failures({node}), ElementsAre("gpu_near_nic n1"));
  node.mutable_gpu_nic_paths(5)->set_distance(v1::PCI_DISTANCE_SYS);
  EXPECT_THAT(Failures({node}), IsEmpty()) << "half of them";
}

TEST(NumaNodeKnown, FailsForFunctionsWithoutNumaNode) {
  auto nodes = Nodes(1, RoceNode);
  FunctionOfRail(nodes[0], 1).clear_numa_node();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "one node only";
  nodes[0].mutable_host()->set_numa_nodes(2);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "numa_node_known");
  EXPECT_THAT(finding.title(), HasSubstr("0000:18:00.0"));
  nodes[0].set_captured(true);
  for (auto& function : *nodes[0].mutable_pci_functions()) function.clear_numa_node();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not captured";
}

TEST(GpuWindow, ComparesGpusOfOneModel) {
  auto nodes = Nodes(1, RoceNode);
  nodes[0].mutable_gpus(0)->set_bar1_bytes(std::uint64_t{256} << 20);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_gpudirect(true);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "memory window of GPU 0000:1b:00.0 is 256 MiB, expected more than 256 MiB");
  v1::Gpu& other = *nodes[0].add_gpus();
  other = nodes[0].gpus(0);
  other.set_pci_address("0000:2b:00.0");
  other.set_bar1_bytes(std::uint64_t{1} << 37);
  EXPECT_EQ(TheFailure(nodes).title(),
            "memory window of GPU 0000:1b:00.0 is 256 MiB, expected 131072 MiB");
}

TEST(PeermemLoaded, FailsForTheNodeWithoutIt) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::UnloadPeermem(nodes[1]);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "peermem_loaded");
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_NODE);
  EXPECT_EQ(finding.title(), "nvidia_peermem is not loaded, expected loaded with 1 NVIDIA GPU");
  EXPECT_EQ(finding.evidence(0).basis(), "NVIDIA GPUs: 1, RDMA ports: 2");
  EXPECT_EQ(finding.remedies(0).command(), "modprobe nvidia_peermem");
}

TEST(PeermemLoaded, PassesWithThePredecessor) {
  auto nodes = Nodes(1, testing::LabNode);
  testing::UnloadPeermem(nodes[0]);
  nodes[0].mutable_peer_memory()->set_nv_peer_mem_loaded(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PeermemLoaded, PassesWithoutGpusOfTheHost) {
  auto nodes = Nodes(3, testing::LabNode);
  for (auto& node : nodes) testing::UnloadPeermem(node);
  nodes[0].clear_gpus();
  nodes[1].mutable_gpus(0)->set_driver("vfio-pci");
  nodes[2].mutable_gpus(0)->set_vendor_id("1002");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PeermemLoaded, IsUnknownWhenItCouldNotBeRead) {
  auto nodes = Nodes(2, testing::LabNode);
  nodes[0].clear_peer_memory();
  EXPECT_THAT(Unknowns(nodes), ElementsAre("peermem_loaded n1", "peermem_one_module n1"));
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
