// The machine around the ports of a built node: PCI, GPUs' paths, limits, clock. Healthy.
#pragma once

#include <cstdint>
#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

// Bare metal with one NUMA node: each function of the node's devices and GPUs below a root port of
// its own, 32 GT/s and 16 lanes, the IOMMU passing through.
void AddMachine(v1::NodeSnapshot& node);

v1::PciFunction& FunctionAt(v1::NodeSnapshot& node, const std::string& address);
v1::PciFunction& FunctionOfRail(v1::NodeSnapshot& node, std::uint32_t rail);
v1::PciFunction& FunctionOfGpu(v1::NodeSnapshot& node);
// Removes the device of a rail with its netdev and PCI function, as of a dead card. Later devices
// move down by one.
void RemoveCard(v1::NodeSnapshot& node, std::uint32_t rail);
// Moves the card of a rail to another PCI address: device, netdev and PCI function.
void MoveCard(v1::NodeSnapshot& node, std::uint32_t rail, const std::string& address);
v1::PciLink Link(std::uint32_t gigatransfers, std::uint32_t width);

// A recent line about a rail's device.
v1::KernelLogLine& Logged(v1::NodeSnapshot& node, const std::string& category,
                          const std::string& text, std::uint32_t rail = 0);

}  // namespace fabric::testing
