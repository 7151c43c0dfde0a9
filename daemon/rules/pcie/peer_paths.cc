#include "daemon/rules/pcie/peer_paths.h"

#include <map>

namespace fabric::rules {
namespace {

bool Translates(const v1::NodeSnapshot& snapshot, const v1::GpuNicPath& path) {
  const v1::PciFunction* const gpu = FindFunction(snapshot, path.gpu());
  return gpu != nullptr && IsTranslated(*gpu);
}

// Paths to devices of the fabric, by GPU; nothing where no bridge redirects.
using Paths = std::map<std::string_view, std::vector<const v1::GpuNicPath*>>;

Paths ToFabric(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  Paths paths;
  bool any = false;
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    any = any || path.acs_redirects_size() > 0;
    if (any) break;
  }
  if (!any) return paths;
  std::set<std::string_view> fabric;
  for (const fleet::PortView& port : node.ports)
    if (port.rail) fabric.insert(port.device->name());
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths())
    if (path.distance() != v1::PCI_DISTANCE_UNSPECIFIED && fabric.contains(path.device()))
      paths[path.gpu()].push_back(&path);
  return paths;
}

}  // namespace

bool IsTranslated(const v1::PciFunction& function) {
  return function.iommu_type().starts_with("DMA");
}

std::set<std::string_view> RedirectingBridges(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::set<std::string_view> bridges;
  if (IsVirtualMachine(snapshot)) return bridges;
  for (const auto& [gpu, paths] : ToFabric(node)) {
    v1::PciDistance nearest = v1::PCI_DISTANCE_SYS;
    for (const v1::GpuNicPath* path : paths) nearest = std::min(nearest, path->distance());
    for (const v1::GpuNicPath* path : paths) {
      if (path->distance() != nearest || nearest > v1::PCI_DISTANCE_PHB) continue;
      if (nearest == v1::PCI_DISTANCE_PHB && !Translates(snapshot, *path)) continue;
      bridges.insert(path->acs_redirects().begin(), path->acs_redirects().end());
    }
  }
  return bridges;
}

}  // namespace fabric::rules
