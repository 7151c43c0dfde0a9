// Kinds of nodes and ports. Values are compared only within one kind.
#pragma once

#include <cstdint>

#include "daemon/fleet/fleet_view.h"

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

}  // namespace fabric::rules
