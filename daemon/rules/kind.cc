#include "daemon/rules/kind.h"

#include <algorithm>

namespace fabric::rules {

bool IsNearGpu(const fleet::PortView& port) {
  const auto& paths = port.node->snapshot.gpu_nic_paths();
  return std::any_of(paths.begin(), paths.end(), [&](const v1::GpuNicPath& path) {
    return path.device() == port.device->name() &&
           (path.distance() == v1::PCI_DISTANCE_PIX || path.distance() == v1::PCI_DISTANCE_PXB);
  });
}

}  // namespace fabric::rules
