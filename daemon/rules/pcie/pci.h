// PCI Express links, functions and paths between GPUs and NICs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "daemon/rules/equality_rule.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {

using fleet::FindFunction;
// Of the port's device; nullptr if unknown.
inline const v1::PciFunction* FunctionOf(const fleet::PortView& port) {
  return port.function;
}

// Capacity of a link without its encoding; 0 if unknown.
std::uint64_t BitsPerSecond(const v1::PciLink& link);
std::uint64_t BitsPerSecond(std::uint32_t megatransfers, std::uint32_t width);

// The maximum that both device and slot support, if both are known.
struct LinkLimit {
  std::uint32_t megatransfers = 0;
  std::uint32_t width = 0;
};
std::optional<LinkLimit> CommonLimit(const v1::PciFunction& function);

// The link has fewer lanes, or a lower speed, than both ends support. False if that is unknown.
bool IsNarrow(const v1::PciFunction& function);
bool IsSlow(const v1::PciFunction& function);

// A card whose driver keeps the link speed when idle. GPUs and some others lower it.
bool KeepsLinkSpeed(const v1::PciFunction& function);

std::string ShowSpeed(std::uint32_t megatransfers);       // "32 GT/s"
std::string ShowGigabits(std::uint64_t bits_per_second);  // "252 Gb/s"
std::string PciFile(std::string_view address, std::string_view file);

bool IsBridge(const v1::PciFunction& function);
bool IsNetworkAdapter(const v1::PciFunction& function);
// A bridge below another bridge of its switch. Broadcom PEX switches appear as two levels of
// switches: the link between them is inside the chip.
bool IsWithinSwitch(const v1::NodeSnapshot& snapshot, const v1::PciFunction& bridge);
bool IsVirtualMachine(const v1::NodeSnapshot& snapshot);  // False if unknown.
// The host itself uses it: it has a driver, and is not passed through to a virtual machine.
bool IsInUse(const v1::Gpu& gpu);
bool HasGpuInUse(const v1::NodeSnapshot& snapshot);
// The command that shows the distances of GPUs and NICs, by the vendor of the GPUs.
std::string TopologyCommand(const v1::NodeSnapshot& snapshot);

// "0000:3b:00", the same for all functions of a card.
std::string_view CardOf(std::string_view address);

// Subject of a finding about a function: its RDMA port; for GPUs and bridges, the node.
struct Owner {
  const fleet::PortView* port = nullptr;
  bool judged = true;  // False for a network card without a port of the fabric in use.
};
Owner OwnerOf(const fleet::NodeView& node, const v1::PciFunction& function);
v1::Subject SubjectOf(const fleet::NodeView& node, const Owner& owner);
// "mlx5_0 (0000:3b:00.0)", "card 0000:3b:00.0", "GPU 0000:17:00.0", "bridge 0000:16:00.0"
std::string FunctionName(const v1::PciFunction& function, const Owner& owner);

// Ports of one rail in nodes of one product; of one model if the product is unknown.
std::optional<Group> ByRailAndProduct(const Member& port);

// Bit i: rdma_devices(i) has a port of a rail. Devices past 63 are left out.
std::uint64_t FabricDevices(const fleet::NodeView& node);

// "DMA", "DMA-FQ": the IOMMU translates the addresses of the function.
bool IsTranslated(const v1::PciFunction& function);

// The node has RDMA, had it before, or has cards for it.
bool IsRdmaNode(const fleet::NodeView& node);

// Bridges that redirect traffic between a GPU and the NICs nearest to it to the root: of pairs
// below a common switch, and of pairs below one host bridge if the IOMMU translates (without
// translation the redirect does not matter there). Empty in virtual machines, where access control
// must stay on.
std::set<std::string_view> RedirectingBridges(const fleet::NodeView& node);
// The same between GPUs without NVLink, whose traffic takes PCIe.
std::set<std::string_view> RedirectingBridgesBetweenGpus(const v1::NodeSnapshot& snapshot);
// The ACS registers of such a path could not be read. Other GPUs and NICs do not matter.
bool HasUnreadRedirects(const fleet::NodeView& node);

}  // namespace fabric::rules
