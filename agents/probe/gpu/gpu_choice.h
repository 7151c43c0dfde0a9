// Which GPUs are near a port's device. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::probe {

// What an inspection says of a node's GPUs.
struct NodeGpus {
  std::vector<v1::Gpu> gpus;
  std::vector<v1::GpuNicPath> paths;
  v1::PeerMemory peer_memory;
};
using FindGpus = std::function<NodeGpus()>;  // From any thread

// Those that `wanted` names by PCI address; without any those with the shortest path to the device,
// or all where no path is known. FAILED_PRECONDITION: the node has none, or not that one.
Result<std::vector<v1::Gpu>> ChooseGpus(const NodeGpus& node, const std::string& device,
                                        const std::vector<std::string>& wanted);

// Why the kernel does not know addresses of GPUs, as far as the inspection tells; else empty.
std::string PeerMemoryHint(const v1::PeerMemory& peer_memory);

}  // namespace fabric::probe
