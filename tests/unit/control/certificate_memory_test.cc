// Memory of certificates: what was used, and which differences between ports matter.
#include "daemon/control/certificates/certificate_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::ProbePort PortOf(int number) {
  v1::ProbePort port;
  port.set_node(Format("n{}", number));
  port.set_device("mlx5_0");
  port.set_port(1);
  return port;
}

class CertificateMemoryTest : public ::testing::Test {
 protected:
  // Ports of n1 to n<count>.
  void Add(int count) {
    for (int n = 1; n <= count; ++n)
      memory_.AddPort(PortOf(n), testing::RoceNode({.number = static_cast<std::uint32_t>(n)}));
  }
  void Take(int number, const v1::ProbeSpec& probe, const v1::ProbeResult& result) {
    v1::PairResult pair;
    *pair.mutable_from() = *pair.mutable_to() = PortOf(number);
    *pair.mutable_probe() = probe;
    *pair.mutable_result() = result;
    memory_.Take(pair);
  }
  // Host memory at 97 Gb/s, and this of the GPU by dma-buf.
  void HostWorks(int number) {
    v1::ProbeResult host;
    host.set_status(v1::PROBE_STATUS_OK);
    host.mutable_bandwidth()->set_mean_bps(97e9);
    Take(number, CertificateMemory::Probes()[0], host);
  }
  void Works(int number, double gpu_bps) {
    const auto probes = CertificateMemory::Probes();
    HostWorks(number);
    v1::ProbeResult gpu;
    gpu.set_status(v1::PROBE_STATUS_OK);
    v1::GpuMemoryStep& peer = *gpu.add_gpu_memory();
    peer.set_registration(v1::GPU_MEMORY_REGISTRATION_PEER_MEMORY);
    peer.set_reason("initiator: ibv_reg_mr: Bad address");
    v1::GpuMemoryStep& dma_buf = *gpu.add_gpu_memory();
    dma_buf.set_gpu("0000:1b:00.0");
    dma_buf.set_registration(v1::GPU_MEMORY_REGISTRATION_DMA_BUF);
    dma_buf.set_works(true);
    dma_buf.mutable_bandwidth()->set_mean_bps(gpu_bps);
    Take(number, probes[1], gpu);
  }
  void Lacks(int number, v1::ProbeStatus status, const std::string& reason) {
    v1::ProbeResult result;
    result.set_status(status);
    result.set_reason(reason);
    Take(number, CertificateMemory::Probes()[1], result);
  }
  v1::CertifiedMemory Of(int number) const {
    const auto all = memory_.Of(Format("n{}", number));
    return all.size() == 1 ? all.front() : v1::CertifiedMemory();
  }

  CertificateMemory memory_;
};

TEST_F(CertificateMemoryTest, SaysWhichMemoryAndWhichWayWasUsed) {
  Add(1);
  EXPECT_THAT(memory_.NodesToTest(), ::testing::ElementsAre("n1"));
  Works(1, 90e9);
  EXPECT_EQ(Of(1).memory(), v1::PROBE_MEMORY_GPU);
  EXPECT_EQ(Of(1).gpu(), "0000:1b:00.0");
  EXPECT_EQ(Of(1).registration(), v1::GPU_MEMORY_REGISTRATION_DMA_BUF);
  EXPECT_EQ(Of(1).gpu_bandwidth_bps(), 90e9);
  EXPECT_EQ(Of(1).host_bandwidth_bps(), 97e9);
  EXPECT_EQ(Of(1).reason(), "peer memory: initiator: ibv_reg_mr: Bad address");
  EXPECT_THAT(memory_.Problems(), IsEmpty());
}

TEST_F(CertificateMemoryTest, ANodeWithoutGpuUsesHostMemoryAndNeedsNoWord) {
  memory_.AddPort(PortOf(1), testing::RoceNode({.gpu = false}));
  EXPECT_THAT(memory_.NodesToTest(), IsEmpty());
  EXPECT_THAT(memory_.Of("n1"), IsEmpty());
}

TEST_F(CertificateMemoryTest, AGpuThatAGuestHasIsNotTested) {
  v1::NodeSnapshot node = testing::RoceNode({});
  node.mutable_gpus(0)->set_driver("vfio-pci");
  memory_.AddPort(PortOf(1), node);
  EXPECT_THAT(memory_.NodesToTest(), IsEmpty());
  EXPECT_EQ(Of(1).memory(), v1::PROBE_MEMORY_HOST);
  EXPECT_EQ(Of(1).reason(), "GPU 0000:1b:00.0 is given to a guest");
}

TEST_F(CertificateMemoryTest, WhatNoNodeCanDoIsShownAndFailsNone) {
  Add(3);
  for (int n = 1; n <= 3; ++n) Lacks(n, v1::PROBE_STATUS_REFUSED, "no access to GPUs");
  EXPECT_THAT(memory_.Problems(), IsEmpty());
  EXPECT_EQ(Of(2).memory(), v1::PROBE_MEMORY_HOST);
  EXPECT_EQ(Of(2).reason(), "no access to GPUs");
}

TEST_F(CertificateMemoryTest, WhatOneNodeLacksIsAProblemOfThatNode) {
  Add(4);
  for (int n = 1; n <= 2; ++n) Works(n, 90e9);
  Works(4, 90e9);
  Lacks(3, v1::PROBE_STATUS_REFUSED, "nvidia_peermem is not loaded");
  ASSERT_EQ(memory_.Problems().size(), 1u);
  EXPECT_EQ(memory_.Problems()[0].node, "n3");
  EXPECT_FALSE(memory_.Problems()[0].fails) << "its agent may lack access";
  EXPECT_EQ(memory_.Problems()[0].text,
            "n3/mlx5_0/1 cannot use GPU memory, which works at 3 of 4 ports: nvidia_peermem is not "
            "loaded");
  HostWorks(3);
  Lacks(3, v1::PROBE_STATUS_FAILED, "remote access error (10)");
  EXPECT_TRUE(memory_.Problems()[0].fails);
}

TEST_F(CertificateMemoryTest, APortThatFailsBetweenHostMemoryTooSaysNothingAboutTheGpu) {
  Add(4);
  for (int n = 1; n <= 3; ++n) Works(n, 90e9);
  Lacks(4, v1::PROBE_STATUS_FAILED, "transport retry counter exceeded");
  EXPECT_THAT(memory_.Problems(), IsEmpty());
  EXPECT_EQ(Of(4).reason(), "transport retry counter exceeded");
}

TEST_F(CertificateMemoryTest, AGpuMuchSlowerThanTheOthersFails) {
  Add(4);
  for (int n = 1; n <= 3; ++n) Works(n, 90e9);
  Works(4, 20e9);
  ASSERT_EQ(memory_.Problems().size(), 1u);
  EXPECT_EQ(memory_.Problems()[0].node, "n4");
  EXPECT_TRUE(memory_.Problems()[0].fails);
  EXPECT_THAT(memory_.Problems()[0].text, HasSubstr("21 %, expected 93 % as at most ports"));
}

TEST_F(CertificateMemoryTest, GpusThatAreAllSlowFailNone) {
  Add(4);
  for (int n = 1; n <= 4; ++n) Works(n, 20e9);
  EXPECT_THAT(memory_.Problems(), IsEmpty());
}

TEST_F(CertificateMemoryTest, AProbeThatDidNotRunIsNotAVerdict) {
  Add(2);
  Works(1, 90e9);
  Lacks(2, v1::PROBE_STATUS_TIMED_OUT, "the host was late");
  EXPECT_THAT(memory_.Problems(), IsEmpty());
  EXPECT_EQ(Of(2).reason(), "the host was late");
  memory_.SetNotTested("no time");
  EXPECT_EQ(Of(2).reason(), "the host was late");
}

}  // namespace
}  // namespace fabric::control
