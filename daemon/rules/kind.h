// Kinds of nodes and ports. Values are compared only within one kind.
#pragma once

#include <cstdint>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/member.h"

namespace fabric::rules {

// Equal numbers mean equal kinds: see fleet::NodeView and fleet::PortView.
inline std::uint64_t KindOf(const fleet::NodeView& node) {
  return node.kind;
}
inline std::uint64_t ProductOf(const fleet::NodeView& node) {
  return node.product;
}
inline std::uint64_t KindOf(const fleet::PortView& port) {
  return port.kind;
}

// The port's card and a GPU are below the same PCIe host bridge (distance PIX or PXB).
bool IsNearGpu(const fleet::PortView& port);

// For Read::applies.
bool IsHardware(const Member& port);            // Not software, not a virtual function
bool IsOnPciLink(const Member& port);           // The same, below a PCIe bridge
bool IsHardwareLink(const Member& port);        // Hardware, InfiniBand or over a netdev
bool IsRoceInUse(const Member& port);           // Carries RoCE
bool IsMlx5Roce(const Member& port);            // Carries RoCE, over a netdev of mlx5
bool IsRoceHardware(const Member& port);        // Carries RoCE, not software
bool HasPfcOn(const Member& port);              // Carries RoCE, with PFC
bool LacksPfcNow(const Member& port);           // Carries RoCE, with PFC known to be off
bool IsEthernetInUse(const Member& port);       // Link layer Ethernet, over a netdev
bool IsInfinibandInUse(const Member& port);     // InfiniBand, ACTIVE
bool IsInfinibandLive(const Member& port);      // The same, not in a captured tree
bool IsPhysicalInfiniband(const Member& port);  // The same, not a virtual function
bool IsLldpUnread(const Member& port);          // Carries RoCE, and LLDP could not be read
bool HasGpusInUse(const Member& node);          // The host uses GPUs

}  // namespace fabric::rules
