// The kind gpu_memory between two runners: which ways work, why not, and what a node needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "agents/probe/gpu/gpu_regions.h"
#include "base/text.h"
#include "tests/testing/fake_verbs.h"
#include "tests/unit/probe/runner_world.h"

namespace fabric::probe {
namespace {

using ::testing::ElementsAre;
using testing::FakeFabric;
using testing::FakeVerbs;
using ::testing::HasSubstr;

// GPUs whose memory is the process's own.
class FakeGpus final : public host::GpuMemory {
 public:
  Result<std::unique_ptr<host::GpuBuffer>> Allocate(const std::string& pci_address,
                                                    const std::string& vendor_id,
                                                    std::size_t bytes) override {
    EXPECT_EQ(vendor_id, "10de");
    if (!missing_library.empty()) return Status(Code::kNotFound, missing_library);
    allocated.insert(pci_address);
    return std::unique_ptr<host::GpuBuffer>(std::make_unique<Buffer>(*this, bytes));
  }

  std::string missing_library;
  bool old = false;  // Without dma-bufs
  std::set<std::string> allocated;
  std::atomic<int> left = 0;

 private:
  class Buffer final : public host::GpuBuffer {
   public:
    Buffer(FakeGpus& gpus, std::size_t bytes) : gpus_(gpus), bytes_(bytes) { ++gpus_.left; }
    ~Buffer() override { --gpus_.left; }
    std::uint64_t address() const override {
      return reinterpret_cast<std::uintptr_t>(bytes_.data());
    }
    Result<host::DmaBufExport> Export() override {
      if (gpus_.old) return Status(Code::kUnimplemented, "CUDA before 11.7");
      return host::DmaBufExport{.file = host::Fd(::dup(0)), .offset = 0};
    }

   private:
    FakeGpus& gpus_;
    std::vector<std::byte> bytes_;
  };
};

v1::Gpu Gpu(const std::string& address) {
  v1::Gpu gpu;
  gpu.set_pci_address(address);
  gpu.set_vendor_id("10de");
  gpu.set_driver("nvidia");
  return gpu;
}

v1::GpuNicPath Path(const std::string& gpu, const std::string& device, v1::PciDistance distance) {
  v1::GpuNicPath path;
  path.set_gpu(gpu);
  path.set_device(device);
  path.set_distance(distance);
  return path;
}

NodeGpus TwoGpus() {
  NodeGpus node;
  node.gpus = {Gpu("0000:1b:00.0"), Gpu("0000:5d:00.0")};
  node.paths = {Path("0000:1b:00.0", "mlx5_0", v1::PCI_DISTANCE_PIX),
                Path("0000:5d:00.0", "mlx5_0", v1::PCI_DISTANCE_SYS),
                Path("0000:1b:00.0", "mlx5_1", v1::PCI_DISTANCE_SYS),
                Path("0000:5d:00.0", "mlx5_1", v1::PCI_DISTANCE_PIX)};
  node.peer_memory.set_nvidia_peermem_loaded(true);
  return node;
}

struct GpuNode {
  explicit GpuNode(FakeFabric& fabric)
      : verbs(fabric),
        runner({.gpu_memory = &gpus, .find_gpus = [this] { return found; }}, verbs, clock,
               FindKnown, reports) {}
  FakeGpus gpus;
  NodeGpus found = TwoGpus();
  SystemClock clock;
  FakeVerbs verbs;
  Reports reports;
  ProbeRunner runner;
};

class GpuMemoryKind : public ::testing::Test {
 protected:
  v1::ProbeAssignment Of(v1::ProbeRole role, const std::string& device) {
    v1::ProbeAssignment assignment = Assignment(7, role, device);
    *assignment.mutable_spec()->mutable_gpu_memory() = wanted;
    return assignment;
  }

  v1::ProbeResult Run() {
    n1.runner.Start(Of(v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
    n2.runner.Start(Of(v1::PROBE_ROLE_RESPONDER, "mlx5_1"));
    n2.runner.Continue(Towards(n1.reports.Next<v1::ProbeReady>()));
    const auto to = n2.reports.Next<v1::ProbeReady>();
    n2.reports.Next<v1::ProbeArmed>();
    n1.runner.Continue(Towards(to));
    const v1::ProbeResult result = n1.reports.Next<v1::ProbeOutcome>().result();
    n2.runner.Stop(Stop(7, "done"));
    n2.reports.Next<v1::ProbeOutcome>();
    EXPECT_EQ(n1.gpus.left + n2.gpus.left, 0);
    EXPECT_EQ(fabric.open_queue_pairs(), 0u);
    return result;
  }

  // "0000:1b:00.0>0000:5d:00.0 PEER_MEMORY works", or why it does not
  static std::vector<std::string> Steps(const v1::ProbeResult& result) {
    std::vector<std::string> lines;
    for (const v1::GpuMemoryStep& step : result.gpu_memory()) {
      EXPECT_EQ(step.works(), step.has_bandwidth() && step.bandwidth().mean_bps() > 0);
      lines.push_back(
          Format("{}>{} {} {}", step.gpu(), step.remote_gpu(),
                 step.registration() == v1::GPU_MEMORY_REGISTRATION_DMA_BUF ? "dma-buf" : "peer",
                 step.works() ? "works" : step.reason()));
    }
    return lines;
  }

  FakeFabric fabric;
  GpuNode n1{fabric}, n2{fabric};
  v1::GpuMemory wanted;
};

TEST_F(GpuMemoryKind, BothWaysBetweenTheNearestGpus) {
  const v1::ProbeResult result = Run();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_THAT(Steps(result), ElementsAre("0000:1b:00.0>0000:5d:00.0 peer works",
                                         "0000:1b:00.0>0000:5d:00.0 dma-buf works"));
  EXPECT_EQ(result.gpu_memory(0).bandwidth().bytes(), 200u << 20);
  EXPECT_THAT(n1.gpus.allocated, ElementsAre("0000:1b:00.0"));
}

TEST_F(GpuMemoryKind, AWayThatOneEndLacksIsNamedWithThatEnd) {
  n2.found.peer_memory.set_nvidia_peermem_loaded(false);
  fabric.RefuseRegister("mlx5_1", false, Status(Code::kInvalidArgument, "ibv_reg_mr: Bad address"));
  v1::ProbeResult result = Run();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_THAT(Steps(result),
              ElementsAre("0000:1b:00.0>0000:5d:00.0 peer responder: ibv_reg_mr: Bad address "
                          "(nvidia_peermem is not loaded)",
                          "0000:1b:00.0>0000:5d:00.0 dma-buf works"));
}

TEST_F(GpuMemoryKind, ALibraryBeforeDmaBufsLeavesTheOtherWay) {
  n1.gpus.old = true;
  const v1::ProbeResult result = Run();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_THAT(Steps(result), ElementsAre("0000:1b:00.0>0000:5d:00.0 peer works",
                                         "0000:1b:00.0> dma-buf initiator: CUDA before 11.7"));
}

TEST_F(GpuMemoryKind, WithoutAWayInCommonItIsRefused) {
  n1.gpus.old = true;
  fabric.RefuseRegister("mlx5_1", false, Status(Code::kInvalidArgument, "Bad address"));
  const v1::ProbeResult result = Run();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_REFUSED);
  EXPECT_EQ(result.reason(), "no registration method works at both ends: responder: Bad address");
  EXPECT_THAT(Steps(result), ElementsAre("0000:1b:00.0>0000:5d:00.0 peer responder: Bad address",
                                         "0000:1b:00.0> dma-buf initiator: CUDA before 11.7"));
}

TEST_F(GpuMemoryKind, AWriteThatFailsEndsNoOtherWay) {
  // The responder's table is read, and then its memory is gone.
  wanted.set_iterations(40);
  fabric.BreakRegion("mlx5_1", 1, "remote access error (10)");
  const v1::ProbeResult result = Run();
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_THAT(Steps(result),
              ElementsAre("0000:1b:00.0>0000:5d:00.0 peer write 1: remote access error (10)",
                          "0000:1b:00.0>0000:5d:00.0 dma-buf works"));
}

TEST_F(GpuMemoryKind, NamedGpusAreTheInitiators) {
  wanted.add_gpus("0000:5d:00.0");
  wanted.add_gpus("0000:1b:00.0");
  wanted.set_iterations(3);
  wanted.set_message_bytes(100);
  const v1::ProbeResult result = Run();
  EXPECT_THAT(Steps(result), ElementsAre("0000:5d:00.0>0000:5d:00.0 peer works",
                                         "0000:5d:00.0>0000:5d:00.0 dma-buf works",
                                         "0000:1b:00.0>0000:5d:00.0 peer works",
                                         "0000:1b:00.0>0000:5d:00.0 dma-buf works"));
  EXPECT_EQ(result.gpu_memory(3).bandwidth().bytes(), 300u);
}

class RefusedNode : public GpuMemoryKind {
 protected:
  v1::ProbeResult Refused() {
    n1.runner.Start(Of(v1::PROBE_ROLE_INITIATOR, "mlx5_0"));
    const v1::ProbeResult result = n1.reports.Next<v1::ProbeOutcome>().result();
    EXPECT_EQ(result.status(), v1::PROBE_STATUS_REFUSED);
    EXPECT_EQ(fabric.open_queue_pairs(), 0u);
    return result;
  }
};

TEST_F(RefusedNode, WithoutAGpu) {
  n1.found = {};
  EXPECT_EQ(Refused().reason(), "gpu_memory needs a GPU, and this node has none");
}

TEST_F(RefusedNode, WhoseGpusAreGivenToGuests) {
  for (v1::Gpu& gpu : n1.found.gpus) gpu.set_driver("vfio-pci");
  EXPECT_THAT(Refused().reason(), HasSubstr("are given to guests"));
}

TEST_F(RefusedNode, WithoutTheGpuThatIsNamed) {
  wanted.add_gpus("0000:99:00.0");
  EXPECT_EQ(Refused().reason(), "gpus: no GPU '0000:99:00.0' among the 2 of this node");
}

TEST_F(RefusedNode, WithoutTheLibrary) {
  n1.gpus.missing_library = "libcuda.so.1: cannot open shared object file";
  EXPECT_EQ(Refused().reason(),
            "GPU 0000:1b:00.0, peer memory: libcuda.so.1: cannot open shared object file; GPU "
            "0000:1b:00.0, dma-buf: libcuda.so.1: cannot open shared object file");
}

TEST_F(RefusedNode, NumbersOutOfBounds) {
  wanted.set_message_bytes((64 << 20) + 1);
  EXPECT_THAT(Refused().reason(), HasSubstr("message_bytes"));
}

TEST(GpuChoice, WithoutPathsAllGpusAreTaken) {
  NodeGpus node = TwoGpus();
  node.paths.clear();
  EXPECT_EQ(ChooseGpus(node, "mlx5_0", {})->size(), 2u);
  EXPECT_EQ(ChooseGpus(TwoGpus(), "mlx5_1", {})->front().pci_address(), "0000:5d:00.0");
}

TEST(GpuChoice, WhatIsNotLoadedIsHintedOnlyWhereItIsKnown) {
  v1::PeerMemory memory;
  EXPECT_EQ(PeerMemoryHint(memory), "");
  memory.set_nvidia_peermem_loaded(false);
  EXPECT_EQ(PeerMemoryHint(memory), "nvidia_peermem is not loaded");
  memory.set_nv_peer_mem_loaded(true);
  EXPECT_EQ(PeerMemoryHint(memory), "");
  memory.set_bound_to_ib_core(false);
  memory.set_bound_reason("built for another kernel");
  EXPECT_EQ(PeerMemoryHint(memory), "built for another kernel");
}

TEST(GpuTable, CrossesWholeAndNothingElseIsTaken) {
  const std::vector<GpuRegion> regions = {
      {.gpu = "0000:1b:00.0",
       .registration = v1::GPU_MEMORY_REGISTRATION_PEER_MEMORY,
       .status = {},
       .registered = {.region = 1, .address = 0x7f0000000000, .key = 0xdeadbeef}},
      {.gpu = "0000:1b:00.0",
       .registration = v1::GPU_MEMORY_REGISTRATION_DMA_BUF,
       .status = Status(Code::kUnimplemented, std::string(1000, 'x')),
       .registered = {}}};
  std::vector<std::byte> table(kGpuTableBytes);
  ASSERT_TRUE(WriteTable(regions, table).ok());
  const auto read = ReadTable(table);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].registered.address, 0x7f0000000000u);
  EXPECT_EQ((*read)[0].registered.key, 0xdeadbeefu);
  EXPECT_FALSE((*read)[1].status.ok());
  EXPECT_EQ((*read)[1].status.message().size(), 300u);

  EXPECT_EQ(WriteTable(regions, std::span(table).first(100)).code(), Code::kResourceExhausted);
  table[0] = std::byte{0xff};
  EXPECT_EQ(ReadTable(table).status().code(), Code::kDataLoss);
  EXPECT_EQ(ReadTable({}).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace fabric::probe
