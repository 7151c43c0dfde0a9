#include "daemon/rules/pfc.h"

#include "daemon/rules/facts.h"

namespace fabric::rules {

std::optional<std::uint64_t> PfcMask(const fleet::PortView& port) {
  if (!IsUp(port) || !IsRoce(port)) return {};
  if (port.netdev == nullptr || !port.netdev->dcb().has_pfc()) return {};
  return port.netdev->dcb().pfc().enabled_mask() & 0xffU;
}

}  // namespace fabric::rules
