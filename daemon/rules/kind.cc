#include "daemon/rules/kind.h"

#include <algorithm>

#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/pcie/pci.h"
#include "proto/gaps.h"

namespace fabric::rules {

bool IsNearGpu(const fleet::PortView& port) {
  const auto& paths = port.node->snapshot.gpu_nic_paths();
  return std::any_of(paths.begin(), paths.end(), [&](const v1::GpuNicPath& path) {
    return path.device() == port.device->name() &&
           (path.distance() == v1::PCI_DISTANCE_PIX || path.distance() == v1::PCI_DISTANCE_PXB);
  });
}

bool IsHardware(const Member& port) {
  const v1::FunctionKind kind = port.port->device->function().kind();
  return kind == v1::FUNCTION_KIND_PHYSICAL || kind == v1::FUNCTION_KIND_BOND;
}

// Guests see cards on the root bus, which has no link.
bool IsOnPciLink(const Member& port) {
  const v1::PciFunction* const function = port.port->function;
  return IsHardware(port) &&
         (function == nullptr || !function->path().empty() || function->has_link_max());
}

bool IsHardwareLink(const Member& port) {
  return IsHardware(port) && (IsInfiniband(*port.port) || IsEthernetInUse(port));
}

bool IsRoceInUse(const Member& port) {
  return CarriesRoce(*port.port);
}

bool IsMlx5Roce(const Member& port) {
  return CarriesRoce(*port.port) && port.port->wire != nullptr &&
         port.port->wire->driver().starts_with("mlx5");
}

bool IsRoceHardware(const Member& port) {
  return CarriesRoce(*port.port) && IsHardware(port);
}

bool HasPfcOn(const Member& port) {
  return HasPfc(*port.port);
}

bool LacksPfcNow(const Member& port) {
  return PfcMask(*port.port) == PriorityMask();
}

bool IsEthernetInUse(const Member& port) {
  return port.port->port->link_layer() == v1::LINK_LAYER_ETHERNET && port.port->netdev != nullptr;
}

bool IsInfinibandInUse(const Member& port) {
  return IsActiveInfiniband(*port.port);
}

bool IsInfinibandLive(const Member& port) {
  return IsActiveInfiniband(*port.port) && !port.snapshot().captured();
}

bool IsPhysicalInfiniband(const Member& port) {
  return IsActiveInfiniband(*port.port) && !IsVirtualFunction(*port.port);
}

// Not: a switch that sends no frames.
bool IsLldpUnread(const Member& port) {
  const auto& gaps = port.snapshot().gaps();
  return CarriesRoce(*port.port) && std::any_of(gaps.begin(), gaps.end(), [](const v1::Gap& gap) {
           return Covers(gap, "LLDP") && gap.code() != v1::GAP_CODE_UNAVAILABLE;
         });
}

bool HasGpusInUse(const Member& node) {
  return HasGpuInUse(node.snapshot());
}

}  // namespace fabric::rules
