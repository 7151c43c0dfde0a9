#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool IsModuleLoaded(const v1::PeerMemory& memory) {
  return memory.nvidia_peermem_loaded() || memory.nv_peer_mem_loaded();
}

// The profile says that jobs do not use GPUDirect RDMA.
bool IsUnused(const fleet::NodeView& node) {
  return node.expected().has_gpudirect() && !node.expected().gpudirect();
}

// peermem_bound

constexpr std::string_view kInterruptsGpudirect =
    "jobs of the node that use GPUDirect RDMA; the module stays in use until they end";

struct Module {
  std::string_view name;
  std::vector<v1::Remedy> remedies;
};

Module Nvidia(const v1::PeerMemory& memory) {
  const char* const name = memory.nvidia_peermem_loaded() ? "nvidia_peermem" : "nv_peer_mem";
  return {
      .name = name,
      .remedies = {Change({.command = Format("modprobe -r {0} && modprobe {0}", name),
                           .affects = v1::REMEDY_REACH_NODE,
                           .interrupts = kInterruptsGpudirect,
                           .lasts = UntilReboot("load it after the RDMA drivers at boot"),
                           .undo = Format("modprobe -r {}", name),
                           .note = "If it is refused or does not help, the GPU driver was built "
                                   "before OFED: reinstall it, or use dma-buf with the open "
                                   "module."})}};
}

Module Amd() {
  return {.name = "amdgpu",
          .remedies = {Change({.command = "amdgpu-install --usecase=dkms",
                               .affects = v1::REMEDY_REACH_NODE,
                               .interrupts = kInterruptsReboot,
                               .lasts = Permanently(),
                               .undo = "amdgpu-install --uninstall, then install the former "
                                       "version",
                               .note = "Install it after OFED, so that it finds the peer memory "
                                       "interface. Or use kernel 5.12 or later, with "
                                       "NCCL_DMABUF_ENABLE=1."})}};
}

void JudgeRegistration(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const v1::PeerMemory& memory = snapshot.peer_memory();
  if (!memory.has_bound_to_ib_core() || node.ports.empty() || !HasGpuInUse(snapshot)) return;
  const bool module = IsModuleLoaded(memory);
  const v1::DmaBuf& dma_buf = memory.dma_buf();
  // amdgpu registers itself. If dma-buf may work, it does not have to.
  const bool may_work = dma_buf.possible() || (!module && !dma_buf.has_possible());
  if (memory.bound_to_ib_core() || may_work || IsUnused(node)) return out.Pass();
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
                        .seen = dma_buf.has_possible() ? "no: " + dma_buf.reason() : "unknown",
                        .source = "dma-buf",
                        .basis = "one of the two is needed"})},
           std::move(what.remedies));
}

// peermem_loaded

bool IsPassedThrough(const v1::Gpu& gpu) {
  return gpu.driver().starts_with("vfio");
}

// NVIDIA GPUs that the host itself uses. On a hypervisor, one without a driver is for a guest.
long NvidiaGpus(const v1::NodeSnapshot& snapshot) {
  const auto& gpus = snapshot.gpus();
  const bool hypervisor = std::any_of(gpus.begin(), gpus.end(), IsPassedThrough);
  return std::count_if(gpus.begin(), gpus.end(), [&](const v1::Gpu& gpu) {
    return gpu.vendor_id() == "10de" && !IsPassedThrough(gpu) && gpu.driver() != "nouveau" &&
           (gpu.has_driver() || !hypervisor);
  });
}

std::string Reason(const v1::NodeSnapshot& snapshot) {
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == "peer_memory") return Format(": {}: {}", gap.path(), gap.reason());
  return {};
}

std::vector<v1::Evidence> EvidenceOf(const fleet::NodeView& node, long gpus, std::string seen) {
  std::vector<v1::Evidence> evidence = {ToEvidence(
      *node.node, {.what = "nvidia_peermem",
                   .expected = "loaded",
                   .seen = std::move(seen),
                   .source = "sys/module/nvidia_peermem",
                   .basis = Format("NVIDIA GPUs: {}, RDMA ports: {}", gpus, node.ports.size())})};
  const v1::PeerMemory& memory = node.node->snapshot.peer_memory();
  if (memory.has_dma_buf())
    evidence.push_back(ToEvidence(
        *node.node, {.what = "dma-buf instead",
                     .expected = "possible",
                     .seen = Format("{}: {}", memory.dma_buf().has_possible() ? "no" : "unknown",
                                    memory.dma_buf().reason()),
                     .source = "dma-buf",
                     .basis = "one of the two is needed"}));
  return evidence;
}

void JudgeLoaded(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const v1::PeerMemory& memory = snapshot.peer_memory();
  const long gpus = NvidiaGpus(snapshot);
  if (node.ports.empty()) return;
  if (gpus == 0 || IsModuleLoaded(memory) || memory.dma_buf().possible() || IsUnused(node))
    return out.Pass();
  if (!memory.has_nvidia_peermem_loaded() || !memory.has_nv_peer_mem_loaded()) {
    const std::string reason = Reason(snapshot);
    std::vector<v1::Evidence> evidence = EvidenceOf(node, gpus, "not readable" + reason);
    evidence.front().set_unread(true);
    out.Unknown(SubjectOf(node), "whether nvidia_peermem is loaded could not be read" + reason,
                std::move(evidence));
    return;
  }
  out.Fail(SubjectOf(node),
           Format("nvidia_peermem is not loaded, expected loaded with {} NVIDIA GPU{}", gpus,
                  gpus == 1 ? "" : "s"),
           EvidenceOf(node, gpus, "not loaded"),
           {LoadModule("nvidia_peermem",
                       "Load it after the RDMA drivers. 'Invalid argument' means that these have "
                       "no peer memory interface. Then GPUDirect RDMA needs dma-buf, with NVIDIA's "
                       "open kernel module and Linux 5.12 or later.")});
}

// peermem_one_module

constexpr std::uint32_t kFirstWithModule =
    470;  // Driver versions from here on have nvidia_peermem.

std::uint32_t MajorOf(const std::string& version) {
  const auto major =
      ParseNumber<std::uint32_t>(std::string_view(version).substr(0, version.find('.')));
  return major.ok() ? *major : 0;
}

void JudgeOldModule(const fleet::NodeView& node, Verdicts& out) {
  const v1::PeerMemory& memory = node.node->snapshot.peer_memory();
  if (node.ports.empty() || !memory.has_nv_peer_mem_loaded()) return;
  const std::string& driver = memory.gpu_driver().version();
  const bool both = memory.nvidia_peermem_loaded();
  if (!memory.nv_peer_mem_loaded() || (!both && MajorOf(driver) < kFirstWithModule))
    return out.Pass();
  const std::string seen = both ? "nv_peer_mem and nvidia_peermem" : "nv_peer_mem";
  out.Fail(SubjectOf(node),
           Format("{} loaded{}, expected nvidia_peermem alone", seen,
                  both ? "" : Format(" with driver {}", driver)),
           {ToEvidence(*node.node, {.what = "peer memory modules",
                                    .expected = "nvidia_peermem",
                                    .seen = seen,
                                    .source = "sys/module/nv_peer_mem",
                                    .basis = "NVIDIA drivers from 470 on contain nvidia_peermem"})},
           {Change({.command = "modprobe -r nv_peer_mem && modprobe nvidia_peermem",
                    .affects = v1::REMEDY_REACH_NODE,
                    .interrupts = kInterruptsGpudirect,
                    .lasts = UntilReboot("remove the package of nv_peer_mem "
                                         "(nvidia-peer-memory-dkms)"),
                    .undo = "modprobe -r nvidia_peermem && modprobe nv_peer_mem"})});
}

}  // namespace

extern const Rule peermem_bound = {
    .id = "peermem_bound",
    .title = "A loaded peer memory module is registered with ib_core, or dma-buf works",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "The module is loaded, but NCCL logs 'GPU Direct RDMA Disabled' for every NIC. The module "
        "was built without the peer memory interface of the RDMA stack, or loaded before it. "
        "amdgpu has the same problem on kernels and stacks without that interface.",
    .source =
        "NVIDIA open GPU kernel modules, nvidia-peermem.c; "
        "github.com/NVIDIA/nccl/issues/1939; github.com/ROCm/amdgpu/issues/102",
    .needs = {Input::kGpus, Input::kPeerMemory},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .reads = {{.field = Field::kPeerMemory, .applies = HasGpusInUse}},
    .fix = "load the module after the RDMA drivers; install the GPU driver after OFED",
    .evaluate_node = JudgeRegistration,
};

extern const Rule peermem_loaded = {
    .id = "peermem_loaded",
    .title = "A node with NVIDIA GPUs and RDMA ports has nvidia_peermem loaded, or can use dma-buf",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without both, RDMA cannot reach GPU memory, and NCCL copies all data through the host, "
        "at a fraction of the speed. A node that can use dma-buf passes. A new installation of "
        "OFED removes the module, and the system does not load it automatically.",
    .source = "NVIDIA open GPU kernel modules, nvidia-peermem; NCCL's choice of GPUDirect RDMA",
    .needs = {Input::kGpus, Input::kPeerMemory},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .fix = "modprobe nvidia_peermem",
    .evaluate_node = JudgeLoaded,
};

extern const Rule peermem_one_module = {
    .id = "peermem_one_module",
    .title = "The retired nv_peer_mem is not loaded, neither with nvidia_peermem nor instead of it",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Both modules register for the same memory, and the old one has known deadlocks. Its "
        "package remains when a GPU driver is replaced by one from 470 on, which contains "
        "nvidia_peermem.",
    .source = "github.com/Mellanox/nv_peer_memory README; NVIDIA driver README, nvidia-peermem",
    .needs = {Input::kPeerMemory},
    .reads = {{.field = Field::kPeerModules, .applies = HasGpusInUse}},
    .fix = "modprobe -r nv_peer_mem && modprobe nvidia_peermem",
    .evaluate_node = JudgeOldModule,
};

}  // namespace fabric::rules
