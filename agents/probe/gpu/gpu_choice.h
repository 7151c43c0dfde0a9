// Choice of the GPUs close to an RDMA device. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::probe {

// GPUs of a node as inspected.
struct NodeGpus {
  std::vector<v1::Gpu> gpus;
  std::vector<v1::GpuNicPath> paths;
  v1::PeerMemory peer_memory;
};
using FindGpus = std::function<NodeGpus()>;  // From any thread

// The GPUs in `wanted` (PCI addresses). If empty: those with the shortest path to the device, or
// all when no path is known. FAILED_PRECONDITION when the node has no GPU or not the wanted one.
Result<std::vector<v1::Gpu>> ChooseGpus(const NodeGpus& node, const std::string& device,
                                        const std::vector<std::string>& wanted);

// Reason why the kernel cannot register GPU addresses, if the inspection found one; else empty.
std::string PeerMemoryHint(const v1::PeerMemory& peer_memory);

}  // namespace fabric::probe
