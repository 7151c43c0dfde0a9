// Log place: the card, GPU, bridge or port that a line of the kernel log names.
#pragma once

#include <string>
#include <string_view>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/host.pb.h"

namespace fabric::rules {

// PCI address that the line names; empty: none. The IOMMU of Intel writes it without its domain,
// "device [3b:00.0]": then the only function of the node at that place; empty if there are several.
std::string_view AddressOf(const fleet::NodeView& node, const v1::KernelLogLine& line);
// The port on the card that the line names; nullptr if there is none or it is unknown.
const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line);
// "0000:3b:00". Empty if the line names none, or a device that is not known.
std::string_view NamedCard(const fleet::NodeView& node, const v1::KernelLogLine& line);
// nullptr if the line names no function that the snapshot has.
const v1::PciFunction* NamedFunction(const fleet::NodeView& node, const v1::KernelLogLine& line);
// "mlx5_1 (0000:18:00.0)"; empty if the line names nothing.
std::string WhereOf(const fleet::NodeView& node, const v1::KernelLogLine& line);
// True if no port of the card that the line names is up.
bool HasNoLink(const fleet::NodeView& node, const v1::KernelLogLine& line);
// True if the line names a card with RDMA ports.
bool IsOfRdmaCard(const fleet::NodeView& node, const v1::KernelLogLine& line);
// True if a line of PCIe or the IOMMU names a device other than an RDMA card, a GPU or a bridge:
// a disk, or a NIC for management.
bool IsOfOtherDevice(const fleet::NodeView& node, const v1::KernelLogLine& line);

}  // namespace fabric::rules
