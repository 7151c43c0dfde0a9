// PCI ordering, GPUDirect, and what only the network knows.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "nccl/parts.h"

namespace fabric::nccl {
namespace {

constexpr std::string_view kAmd = "1002";

std::string_view NameOf(v1::PciDistance distance) {
  switch (distance) {
    case v1::PCI_DISTANCE_PIX: return "PIX";
    case v1::PCI_DISTANCE_PXB: return "PXB";
    case v1::PCI_DISTANCE_PHB: return "PHB";
    case v1::PCI_DISTANCE_NODE: return "NODE";
    case v1::PCI_DISTANCE_SYS: return "SYS";
    default: return "?";
  }
}

// For each GPU the distance of its nearest chosen device; UNSPECIFIED where one is not known.
std::map<std::string, v1::PciDistance> Nearest(const Facts& facts) {
  std::set<std::string> devices;
  for (const ChosenPort& chosen : facts.ports) devices.insert(chosen.device->name());
  std::map<std::string, v1::PciDistance> nearest;
  for (const v1::GpuNicPath& path : facts.snapshot.gpu_nic_paths()) {
    if (!devices.contains(path.device())) continue;
    const auto [at, first] = nearest.emplace(path.gpu(), path.distance());
    const bool known = path.distance() != v1::PCI_DISTANCE_UNSPECIFIED;
    const bool better = at->second == v1::PCI_DISTANCE_UNSPECIFIED || path.distance() < at->second;
    if (!first && known && better) at->second = path.distance();
  }
  return nearest;
}

bool IsPeerMemoryBound(const v1::PeerMemory& memory) {
  return memory.has_bound_to_ib_core() && memory.bound_to_ib_core();
}

void AdviseLevel(const Facts& facts, v1::NcclAdvice& advice) {
  constexpr const char* kName = "NCCL_NET_GDR_LEVEL";
  const std::map<std::string, v1::PciDistance> nearest = Nearest(facts);
  if (nearest.empty())
    return Undecided(advice, kName, "the PCI paths between GPUs and chosen ports are unknown");
  std::vector<std::string> unknown, far;
  v1::PciDistance farthest = v1::PCI_DISTANCE_PIX;
  for (const auto& [gpu, distance] : nearest) {
    farthest = std::max(farthest, distance);
    if (distance == v1::PCI_DISTANCE_UNSPECIFIED) unknown.push_back(gpu);
    if (distance > v1::PCI_DISTANCE_PXB) far.push_back(Format("{} ({})", gpu, NameOf(distance)));
  }
  if (!unknown.empty())
    return Undecided(advice, kName,
                     Format("the PCI path from {} to its nearest port is unknown", Few(unknown)));
  if (far.empty())
    return LeaveUnset(advice, kName,
                      Format("the nearest port of every GPU is at {} or nearer, within NCCL's own "
                             "limit PXB",
                             NameOf(farthest)));
  // NCCL has no NODE: paths within one NUMA node are PHB.
  const std::string_view level = farthest == v1::PCI_DISTANCE_SYS ? "SYS" : "PHB";
  Undecided(advice, kName,
            Format("GPUs whose nearest port is beyond NCCL's limit PXB go through host memory: {}; "
                   "whether {} is faster depends on the processor: measure both",
                   Few(far), level));
}

void AdviseDmaBuf(const Facts& facts, v1::NcclAdvice& advice) {
  constexpr const char* kName = "NCCL_DMABUF_ENABLE";
  const v1::PeerMemory& memory = facts.snapshot.peer_memory();
  const bool amd = facts.snapshot.gpus(0).vendor_id() == kAmd;
  if (!memory.dma_buf().has_possible()) {
    const std::string& why = memory.dma_buf().reason();
    return Undecided(
        advice, kName,
        Format("unknown whether dma-buf is possible{}{}", why.empty() ? "" : ": ", why));
  }
  if (memory.dma_buf().possible() && amd && !IsPeerMemoryBound(memory))
    return Set(advice, kName, "1",
               "AMD GPUs, dma-buf works and no peer memory client is bound; older versions of RCCL "
               "disable it by default");
  LeaveUnset(
      advice, kName,
      memory.dma_buf().possible()
          ? "dma-buf works, and NCCL uses it"
          : Format("dma-buf does not work ({}), and NCCL detects this", memory.dma_buf().reason()));
}

void AdvisePeerMemory(const Facts& facts, v1::NcclAdvice& advice) {
  const v1::PeerMemory& memory = facts.snapshot.peer_memory();
  const bool impossible = memory.has_bound_to_ib_core() && !memory.bound_to_ib_core() &&
                          memory.dma_buf().has_possible() && !memory.dma_buf().possible();
  if (impossible)
    LeaveUnset(advice, "NCCL_NET_GDR_READ",
               "GPUDirect RDMA is not possible here, neither by peer memory nor by dma-buf: data "
               "goes through host memory, no variable changes that");
  std::set<std::string> bridges;
  for (const v1::GpuNicPath& path : facts.snapshot.gpu_nic_paths())
    if (path.distance() <= v1::PCI_DISTANCE_PXB)
      bridges.insert(path.acs_redirects().begin(), path.acs_redirects().end());
  if (!bridges.empty())
    Undecided(advice, "NCCL_NET_GDR_LEVEL",
              Format("ACS redirects traffic between GPUs and ports on the bridges {}: turn it off "
                     "there before you use GPUDirect RDMA",
                     Few({bridges.begin(), bridges.end()})));
}

}  // namespace

void AdviseOrdering(const Facts& facts, v1::NcclAdvice& advice) {
  constexpr const char* kName = "NCCL_IB_PCI_RELAXED_ORDERING";
  const v1::HostFacts& host = facts.snapshot.host();
  if (!host.has_virtualization())
    return Undecided(advice, kName, "unknown whether this is a virtual machine, which needs 1");
  if (host.virtualization() == "none")
    return LeaveUnset(advice, kName,
                      "not a virtual machine: NCCL's automatic choice is sufficient");
  Set(advice, kName, "1",
      Format("a virtual machine ({}): without relaxed ordering the IOMMU slows every write to GPU "
             "memory",
             host.virtualization()));
}

void AdviseGpuDirect(const Facts& facts, v1::NcclAdvice& advice) {
  if (facts.snapshot.gpus().empty()) return;
  AdviseLevel(facts, advice);
  AdviseDmaBuf(facts, advice);
  AdvisePeerMemory(facts, advice);
}

void AdviseRouting(const Facts& facts, v1::NcclAdvice& advice) {
  const bool roce = std::any_of(facts.ports.begin(), facts.ports.end(),
                                [](const ChosenPort& port) { return port.Roce(); });
  if (roce) {
    Undecided(advice, "NCCL_IB_ADAPTIVE_ROUTING",
              "1 if the switches route RoCE adaptively, which the machine does not show; NCCL's "
              "default on RoCE is 0");
    Undecided(
        advice, "NCCL_IB_QPS_PER_CONNECTION",
        "about 4 if the switches distribute flows by a hash (ECMP), which the machine does not "
        "show; NCCL's default is 1");
  }
  if (facts.ports.size() < 2) return;
  std::set<std::string> switches;
  for (const v1::LldpNeighbor& neighbor : facts.snapshot.lldp_neighbors())
    for (const ChosenPort& chosen : facts.ports)
      if (neighbor.netdev() == chosen.port->netdev()) switches.insert(neighbor.chassis_id());
  Undecided(advice, "NCCL_CROSS_NIC",
            Format("0 if rails do not reach each other, 1 if they do: run probes between rails{}; "
                   "NCCL's default is 2",
                   switches.size() < 2
                       ? std::string()
                       : Format(" (the chosen ports are on {} switches)", switches.size())));
}

}  // namespace fabric::nccl
