#include "agents/probe/gpu/gpu_choice.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace fabric::probe {
namespace {

bool IsUsable(const v1::Gpu& gpu) {
  return gpu.driver() != "vfio-pci";  // A guest's
}

}  // namespace

Result<std::vector<v1::Gpu>> ChooseGpus(const NodeGpus& node, const std::string& device,
                                        const std::vector<std::string>& wanted) {
  std::vector<v1::Gpu> chosen;
  for (const std::string& address : wanted) {
    const auto found = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const v1::Gpu& gpu) {
      return gpu.pci_address() == address;
    });
    if (found == node.gpus.end())
      return Status(Code::kFailedPrecondition, Format("gpus: no GPU {} among the {} of this node",
                                                      Quoted(address), node.gpus.size()));
    chosen.push_back(*found);
  }
  if (!chosen.empty()) return chosen;
  std::map<std::string, int> distances;
  for (const v1::GpuNicPath& path : node.paths)
    if (path.device() == device && path.distance() != v1::PCI_DISTANCE_UNSPECIFIED)
      distances[path.gpu()] = path.distance();
  int shortest = v1::PciDistance_MAX;
  for (const v1::Gpu& gpu : node.gpus)
    if (const auto found = distances.find(gpu.pci_address());
        IsUsable(gpu) && found != distances.end())
      shortest = std::min(shortest, found->second);
  for (const v1::Gpu& gpu : node.gpus) {
    const auto found = distances.find(gpu.pci_address());
    const bool near = distances.empty() || (found != distances.end() && found->second == shortest);
    if (IsUsable(gpu) && near) chosen.push_back(gpu);
  }
  if (chosen.empty())
    return Status(Code::kFailedPrecondition,
                  node.gpus.empty() ? "gpu_memory needs a GPU, and this node has none"
                                    : "gpu_memory needs a GPU, and all of this node are given to "
                                      "guests (vfio-pci)");
  return chosen;
}

std::string PeerMemoryHint(const v1::PeerMemory& peer_memory) {
  const bool asked =
      peer_memory.has_nvidia_peermem_loaded() || peer_memory.has_nv_peer_mem_loaded();
  const bool loaded = peer_memory.nvidia_peermem_loaded() || peer_memory.nv_peer_mem_loaded();
  if (asked && !loaded) return "nvidia_peermem is not loaded";
  if (loaded && peer_memory.has_bound_to_ib_core() && !peer_memory.bound_to_ib_core())
    return peer_memory.bound_reason().empty() ? "nvidia_peermem is not registered with ib_core"
                                              : peer_memory.bound_reason();
  return {};
}

}  // namespace fabric::probe
