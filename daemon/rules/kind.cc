#include "daemon/rules/kind.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace fabric::rules {
namespace {

// Asked for each port by each rule: so not a byte at a time.
std::uint64_t Mixed(std::uint64_t before, std::string_view text) {
  return (before ^ std::hash<std::string_view>()(text)) * 0x9e3779b97f4a7c15U;
}

}  // namespace

std::uint64_t KindOf(const fleet::NodeView& node) {
  const auto end =
      std::partition_point(node.ports.begin(), node.ports.end(),
                           [](const fleet::PortView& port) { return port.rail.has_value(); });
  return Mixed(static_cast<std::uint64_t>(end - node.ports.begin()),
               node.node->snapshot.host().product());
}

std::uint64_t ProductOf(const fleet::NodeView& node) {
  const std::string& product = node.node->snapshot.host().product();
  if (!product.empty()) return Mixed(0, product);
  std::uint64_t cards = 0;
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail) break;
    const v1::RdmaDevice& device = *port.device;
    cards = Mixed(cards, device.has_model() ? device.model() : device.driver());
  }
  return cards;
}

std::uint64_t KindOf(const fleet::NodeView& node, const fleet::PortView& port) {
  const v1::RdmaDevice& device = *port.device;
  return Mixed(KindOf(node), device.has_model() ? device.model() : device.driver());
}

bool IsNearGpu(const fleet::PortView& port) {
  const auto& paths = port.node->snapshot.gpu_nic_paths();
  return std::any_of(paths.begin(), paths.end(), [&](const v1::GpuNicPath& path) {
    return path.device() == port.device->name() &&
           (path.distance() == v1::PCI_DISTANCE_PIX || path.distance() == v1::PCI_DISTANCE_PXB);
  });
}

}  // namespace fabric::rules
