// Nodes of one product have the same settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;
using Node = v1::NodeSnapshot;

struct Difference {
  const char* rule;
  void (*plant)(Node&);
  const char* title;
};

constexpr Difference kDifferences[] = {
    {"kernel_release_equal",
     [](Node& n) {
       n.mutable_node()->set_kernel_release("6.1.0-12-amd64");
       n.mutable_host()->set_distribution("Debian GNU/Linux 11 (bullseye)");
     },
     "kernel release 6.1.0-12-amd64, expected 6.1.0-37-amd64 (2 of 3 nodes with Maker M1)"},
    {"rdma_stack_equal", [](Node& n) { n.mutable_host()->set_rdma_stack(v1::RDMA_STACK_OFED); },
     "RDMA stack OFED (out of tree), expected inbox (of the kernel) (2 of 3 nodes with Maker M1)"},
    {"gpu_driver_equal",
     [](Node& n) { n.mutable_peer_memory()->mutable_gpu_driver()->set_open_module(false); },
     "GPU driver 550.54.15 (closed module), expected 550.54.15 (open module) (2 of 3 nodes with "
     "Maker M1)"},
    {"gpu_count_equal",
     [](Node& n) {
       n.clear_gpus();
       n.clear_gpu_nic_paths();
     },
     "number of GPUs 0, expected 1 (2 of 3 nodes with Maker M1)"},
    {"kernel_command_line_equal",
     [](Node& n) { n.mutable_host()->set_kernel_command_line("ro pci=noats,realloc quiet"); },
     "kernel parameters of PCI and IOMMU pci=realloc pci=noats, expected intel_iommu=on iommu=pt "
     "(2 of 3 nodes with Maker M1)"},
    {"rdma_netns_mode_equal",
     [](Node& n) { n.mutable_host()->set_rdma_netns_mode(v1::RDMA_NETNS_MODE_EXCLUSIVE); },
     "RDMA network namespace mode exclusive, expected shared (2 of 3 nodes with Maker M1)"},
    {"hugepages_equal", [](Node& n) { n.mutable_host()->mutable_hugepages(0)->set_total(0); },
     "reserved huge pages none, expected 2048 MiB (2 of 3 nodes with Maker M1)"},
    {"sysctls_equal", [](Node& n) { n.mutable_host()->mutable_sysctls(0)->set_value("1"); },
     "kernel.numa_balancing 1, expected 0 (2 of 3 nodes with Maker M1)"},
    {"pci_topology_equal",
     [](Node& n) { n.mutable_gpu_nic_paths(1)->set_distance(v1::PCI_DISTANCE_SYS); },
     "distances of GPUs and NICs 1 PHB, 1 SYS, expected 2 PHB (2 of 3 nodes with Maker M1)"},
};

std::vector<Node> Equals() {
  auto nodes = Nodes(3, RoceNode);
  for (Node& node : nodes) {
    node.mutable_host()->set_product("Maker M1");
    v1::HugePages& pages = *node.mutable_host()->add_hugepages();
    pages.set_page_bytes(std::uint64_t{2} << 20);
    pages.set_total(1024);
    v1::GpuDriver& driver = *node.mutable_peer_memory()->mutable_gpu_driver();
    driver.set_name("nvidia");
    driver.set_version("550.54.15");
    driver.set_open_module(true);
  }
  return nodes;
}

TEST(NodeUniformity, NamesTheNodeThatDiffers) {
  EXPECT_THAT(Failures(Equals()), IsEmpty());
  for (const Difference& difference : kDifferences) {
    SCOPED_TRACE(difference.rule);
    auto nodes = Equals();
    difference.plant(nodes[1]);
    EXPECT_THAT(Failures(nodes), ElementsAre(Format("{} n2", difference.rule)));
    EXPECT_EQ(TheFailure(nodes).title(), difference.title);
  }
}

TEST(NodeUniformity, DoesNotCompareOtherProducts) {
  for (const Difference& difference : kDifferences) {
    SCOPED_TRACE(difference.rule);
    auto nodes = Equals();
    difference.plant(nodes[1]);
    nodes[1].mutable_host()->set_product("Maker M2");
    EXPECT_THAT(Failures(nodes), IsEmpty());
  }
}

TEST(NodeUniformity, ComparesWithTheProfile) {
  auto nodes = Nodes(1, RoceNode);
  v1::Expectations expect;
  expect.set_gpus(8);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("gpu_count_equal n1"));
  expect.set_gpus(1);
  expect.set_kernel_release("6.8.0");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ElementsAre("kernel_release_equal n1"));
  expect.clear_kernel_release();
  expect.set_rdma_stack_version("MLNX_OFED_LINUX-23.10-1.1.9.0");
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "RDMA stack inbox, expected MLNX_OFED_LINUX-23.10-1.1.9.0 (profile test)");
}

TEST(KernelRelease, ShowsTheDistribution) {
  auto nodes = Equals();
  kDifferences[0].plant(nodes[1]);
  EXPECT_EQ(TheFailure(nodes).evidence(1).expected(), "Debian GNU/Linux 12 (bookworm)");
}

TEST(KernelCommandLine, SkipsNodesThatTheIommuRuleReports) {
  auto nodes = Equals();
  nodes[1].mutable_host()->set_kernel_command_line("ro intel_iommu=on");
  testing::FunctionOfRail(nodes[1], 0).set_iommu_type("DMA-FQ");
  EXPECT_THAT(Failures(nodes), ElementsAre("iommu_passes_through n2"));
}

}  // namespace
}  // namespace fabric::rules
