// Which machines and ports are alike, so that what one has is expected of the other.
#pragma once

#include <cstdint>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// What these are equal for: see fleet::NodeView and fleet::PortView.
inline std::uint64_t KindOf(const fleet::NodeView& node) {
  return node.kind;
}
inline std::uint64_t ProductOf(const fleet::NodeView& node) {
  return node.product;
}
inline std::uint64_t KindOf(const fleet::PortView& port) {
  return port.kind;
}

// No host bridge is between the port's card and a GPU: it serves that one.
bool IsNearGpu(const fleet::PortView& port);

}  // namespace fabric::rules
