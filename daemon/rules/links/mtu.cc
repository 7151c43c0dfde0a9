#include "daemon/rules/links/mtu.h"

#include "daemon/rules/facts.h"

namespace fabric::rules {

std::optional<std::uint64_t> NetdevMtu(const fleet::PortView& port) {
  if (!IsUp(port) || port.port->link_layer() == v1::LINK_LAYER_INFINIBAND) return {};
  if (port.netdev == nullptr || !port.netdev->has_mtu_bytes()) return {};
  return port.netdev->mtu_bytes();
}

std::uint32_t RdmaMtuWithin(std::uint32_t bytes) {
  std::uint32_t mtu = 256;
  while (mtu < 4096 && 2 * mtu <= bytes) mtu *= 2;
  return mtu;
}

}  // namespace fabric::rules
