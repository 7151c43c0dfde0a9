// A snapshot as the tables that `fabric-agent inspect` prints.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

// Sections: node, RDMA devices, RDMA ports with their netdevs, lossless settings, GIDs, netdevs,
// GPUs, their ways to RDMA devices, PCI Express, GPUDirect, gaps. What is absent is "-"; the gaps
// say why. Ends in a newline.
std::string Report(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
