#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

struct Module {
  std::string_view name;
  std::vector<v1::Remedy> remedies;
};

Module Nvidia(const v1::PeerMemory& memory) {
  const std::string name = memory.nvidia_peermem_loaded() ? "nvidia_peermem" : "nv_peer_mem";
  return {.name = memory.nvidia_peermem_loaded() ? "nvidia_peermem" : "nv_peer_mem",
          .remedies = {ToRemedy({.command = Format("modprobe -r {} && modprobe {}", name, name),
                                 .interrupts_traffic = true,
                                 .note = "After the RDMA drivers. Where it is refused or does not "
                                         "help, the GPU driver was built before OFED: install it "
                                         "again, or use dma-buf with the open module."})}};
}

Module Amd() {
  return {.name = "amdgpu",
          .remedies = {ToRemedy({.command = "amdgpu-install --usecase=dkms",
                                 .interrupts_traffic = true,
                                 .note = "After OFED, so that it finds the peer memory interface. "
                                         "Or a kernel from 5.12 on, with NCCL_DMABUF_ENABLE=1."})}};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const v1::PeerMemory& memory = snapshot.peer_memory();
  if (!memory.has_bound_to_ib_core() || node.ports.empty() || !HasGpuInUse(snapshot)) return;
  const bool module = memory.nvidia_peermem_loaded() || memory.nv_peer_mem_loaded();
  const v1::DmaBuf& dma_buf = memory.dma_buf();
  // amdgpu registers by itself; where dma-buf may do, that it did not is no fault.
  const bool may_do = dma_buf.possible() || (!module && !dma_buf.has_possible());
  const bool not_used = node.expected().has_gpudirect() && !node.expected().gpudirect();
  if (memory.bound_to_ib_core() || may_do || not_used) return out.Pass();
  Module what = module ? Nvidia(memory) : Amd();
  out.Fail(SubjectOf(node),
           Format("{} is not registered with ib_core, expected registered: {}", what.name,
                  memory.bound_reason()),
           {ToEvidence(*node.node, {.what = Format("{} in ib_core", what.name),
                                    .expected = "registered",
                                    .seen = memory.bound_reason(),
                                    .source = "sys/kernel/mm/memory_peers",
                                    .basis = "rule"}),
            ToEvidence(*node.node,
                       {.what = "dma-buf instead",
                        .expected = "possible",
                        .seen = dma_buf.has_possible() ? "no: " + dma_buf.reason() : "not known",
                        .source = "dma-buf",
                        .basis = "one of the two is needed"})},
           std::move(what.remedies));
}

}  // namespace

extern const Rule peermem_bound = {
    .id = "peermem_bound",
    .title = "A peer memory module that is loaded is registered with ib_core, or dma-buf does",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "The module is listed, and yet NCCL says 'GPU Direct RDMA Disabled' for every NIC: it "
        "was built without the peer memory interface of the RDMA stack, or loaded before it. "
        "The same for amdgpu on kernels and stacks without that interface.",
    .source =
        "NVIDIA open GPU kernel modules, nvidia-peermem.c; "
        "github.com/NVIDIA/nccl/issues/1939; github.com/ROCm/amdgpu/issues/102",
    .needs = {Input::kGpus, Input::kPeerMemory},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .fix = "load the module after the RDMA drivers; install the GPU driver after OFED",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
