#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;

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

TEST(PeermemLoaded, PassesWithoutAnyGpuThatTheHostUses) {
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
  EXPECT_THAT(Unknowns(nodes), ElementsAre("peermem_loaded n1"));
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
