// What rules about PCI Express look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {

using fleet::FindFunction;
// Of the port's device; nullptr: not known.
inline const v1::PciFunction* FunctionOf(const fleet::PortView& port) {
  return port.function;
}

// What a link carries without its encoding; 0: not known.
std::uint64_t BitsPerSecond(const v1::PciLink& link);
std::uint64_t BitsPerSecond(std::uint32_t megatransfers, std::uint32_t width);

// The most that device and slot both can, where both are known.
struct LinkLimit {
  std::uint32_t megatransfers = 0;
  std::uint32_t width = 0;
};
std::optional<LinkLimit> CommonLimit(const v1::PciFunction& function);

// The link has fewer lanes than both ends could, or is slower. False where that is not known.
bool IsNarrow(const v1::PciFunction& function);
bool IsSlow(const v1::PciFunction& function);

std::string ShowSpeed(std::uint32_t megatransfers);       // "32 GT/s"
std::string ShowGigabits(std::uint64_t bits_per_second);  // "252 Gb/s"
std::string PciFile(std::string_view address, std::string_view file);

bool IsBridge(const v1::PciFunction& function);
bool IsVirtualMachine(const v1::NodeSnapshot& snapshot);  // False where that is not known.
// One that the host itself uses: it has a driver, and was not handed to a virtual machine.
bool IsInUse(const v1::Gpu& gpu);
bool HasGpuInUse(const v1::NodeSnapshot& snapshot);

// "0000:3b:00": one card, whatever the number of its functions.
std::string_view CardOf(std::string_view address);

// Who a finding about a function is about: the RDMA port on it, else (GPU, bridge) the node.
struct Owner {
  const fleet::PortView* port = nullptr;
  bool judged = true;  // False for a card without a port of the fabric in use.
};
Owner OwnerOf(const fleet::NodeView& node, const v1::PciFunction& function);
v1::Subject SubjectOf(const fleet::NodeView& node, const Owner& owner);
// "mlx5_0 (0000:3b:00.0)", "GPU 0000:17:00.0", "bridge 0000:16:00.0"
std::string FunctionName(const v1::PciFunction& function, const Owner& owner);

// Ports of one rail in machines of one product; where that is not known, of one model.
std::optional<Group> ByRailAndProduct(const Member& port);

// Bit i: rdma_devices(i) has a port of a rail. Devices past 63 are left out.
std::uint64_t FabricDevices(const fleet::NodeView& node);

}  // namespace fabric::rules
