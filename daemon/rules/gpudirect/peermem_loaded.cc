#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// One that the host itself uses: not handed through to a virtual machine.
bool IsNvidia(const v1::Gpu& gpu) {
  return gpu.vendor_id() == "10de" && !gpu.driver().starts_with("vfio") &&
         gpu.driver() != "nouveau";
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
                     .seen = Format("{}: {}", memory.dma_buf().has_possible() ? "no" : "not known",
                                    memory.dma_buf().reason()),
                     .source = "dma-buf",
                     .basis = "one of the two is needed"}));
  return evidence;
}

std::vector<v1::Remedy> Remedies() {
  return {ToRemedy({.command = "modprobe nvidia_peermem",
                    .note = "After the RDMA drivers. 'Invalid argument' means that they have no "
                            "peer memory interface: then GPUDirect RDMA needs dma-buf, which "
                            "takes NVIDIA's open kernel module and Linux 5.12."})};
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const v1::PeerMemory& memory = snapshot.peer_memory();
  const long gpus = std::count_if(snapshot.gpus().begin(), snapshot.gpus().end(), IsNvidia);
  const bool loaded = memory.nvidia_peermem_loaded() || memory.nv_peer_mem_loaded();
  const bool not_used = node.expected().has_gpudirect() && !node.expected().gpudirect();
  if (gpus == 0 || node.ports.empty() || loaded || memory.dma_buf().possible() || not_used) {
    out.Pass();
    return;
  }
  if (!memory.has_nvidia_peermem_loaded() || !memory.has_nv_peer_mem_loaded()) {
    const std::string reason = Reason(snapshot);
    out.Unknown(SubjectOf(node), "whether nvidia_peermem is loaded could not be read" + reason,
                EvidenceOf(node, gpus, "not readable" + reason));
    return;
  }
  out.Fail(SubjectOf(node),
           Format("nvidia_peermem is not loaded, expected loaded with {} NVIDIA GPU{}", gpus,
                  gpus == 1 ? "" : "s"),
           EvidenceOf(node, gpus, "not loaded"), Remedies());
}

}  // namespace

extern const Rule peermem_loaded = {
    .id = "peermem_loaded",
    .title = "A node with NVIDIA GPUs and RDMA ports has nvidia_peermem loaded, or can use dma-buf",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without either RDMA cannot reach GPU memory, and NCCL copies everything through the "
        "host, at a fraction of the speed. A node that is known to be able to use dma-buf passes. "
        "The module goes when OFED is installed anew, and is not loaded by itself.",
    .source = "NVIDIA open GPU kernel modules, nvidia-peermem; NCCL's choice of GPUDirect RDMA",
    .needs = {Input::kGpus, Input::kPeerMemory},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .fix = "modprobe nvidia_peermem",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
