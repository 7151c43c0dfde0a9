#include "agents/inspect/pci_distance.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::inspect {
namespace {

// Broadcom PEX switches appear as two levels of switches: the same ids as for
// pcie_upstream_covers_nics.
bool IsPex(const v1::PciFunction& bridge) {
  const bool pex_gen4 = bridge.device_id() == "c010" && bridge.subsystem_vendor_id() == "1000" &&
                        bridge.subsystem_device_id().starts_with('a');
  return bridge.vendor_id() == "1000" && (pex_gen4 || bridge.device_id() == "c030");
}

bool IsWithinPex(const v1::PciFunction& bridge, const PciFunctions& functions) {
  if (bridge.path().empty() || !IsPex(bridge)) return false;
  const v1::PciFunction* const above = functions.Find(*bridge.path().rbegin());
  return above != nullptr && IsPex(*above) && above->device_id() == bridge.device_id();
}

// Switches on the way: each has one upper side, and a bridge to conventional PCI counts as one.
// `depth` is how many bridges are above this one: the first is a root port, then switches follow
// as pairs of upper and lower side.
bool IsSwitch(const std::string& address, int depth, const PciFunctions& functions) {
  const v1::PciFunction* const bridge = functions.Find(address);
  if (bridge == nullptr || !bridge->has_port_type()) return depth % 2 == 1;
  if (IsWithinPex(*bridge, functions)) return false;
  return bridge->port_type() == v1::PCI_PORT_TYPE_UPSTREAM ||
         bridge->port_type() == v1::PCI_PORT_TYPE_BRIDGE;
}

// Without a common bridge.
v1::PciDistance ThroughTheHost(const v1::PciFunction& a, const v1::PciFunction& b,
                               bool one_numa_node, std::string& reason) {
  if (a.root_complex() == b.root_complex()) return v1::PCI_DISTANCE_PHB;
  if (one_numa_node) return v1::PCI_DISTANCE_NODE;
  for (const v1::PciFunction* each : {&a, &b}) {
    if (each->has_numa_node()) continue;
    reason = Format("the NUMA node of {} is unknown", each->address());
    return v1::PCI_DISTANCE_UNSPECIFIED;
  }
  return a.numa_node() == b.numa_node() ? v1::PCI_DISTANCE_NODE : v1::PCI_DISTANCE_SYS;
}

}  // namespace

PciFunctions::PciFunctions(const v1::NodeSnapshot& snapshot) {
  for (const v1::PciFunction& function : snapshot.pci_functions())
    by_address_.emplace(function.address(), &function);
}

const v1::PciFunction* PciFunctions::Find(std::string_view address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : found->second;
}

PciDistanceFound Distance(const v1::PciFunction& a, const v1::PciFunction& b,
                          const PciFunctions& functions, bool one_numa_node) {
  PciDistanceFound found;
  for (const v1::PciFunction* each : {&a, &b}) {
    if (each->has_root_complex()) continue;
    found.reason = Format("the position of {} in the PCI tree is unknown", each->address());
    return found;
  }
  int common = 0;
  if (a.root_complex() == b.root_complex())
    while (common < std::min(a.path_size(), b.path_size()) && a.path(common) == b.path(common))
      ++common;
  int switches = 0;
  const auto pass = [&](const v1::PciFunction& function, int depth) {
    found.bridges.push_back(function.path(depth));
    if (IsSwitch(function.path(depth), depth, functions)) ++switches;
  };
  for (int depth = a.path_size() - 1; depth >= common; --depth) pass(a, depth);
  if (common > 0) pass(a, common - 1);
  for (int depth = common; depth < b.path_size(); ++depth) pass(b, depth);

  if (common > 0)
    found.distance = switches <= 1 ? v1::PCI_DISTANCE_PIX : v1::PCI_DISTANCE_PXB;
  else
    found.distance = ThroughTheHost(a, b, one_numa_node, found.reason);
  return found;
}

}  // namespace fabric::inspect
