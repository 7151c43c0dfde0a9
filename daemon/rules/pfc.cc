#include "daemon/rules/pfc.h"

#include "daemon/rules/facts.h"

namespace fabric::rules {

const v1::DcbConfig* SettingsOf(const fleet::PortView& port) {
  if (port.netdev == nullptr) return nullptr;
  if (port.netdev->has_dcb() || !port.netdev->has_bond()) return &port.netdev->dcb();
  for (const std::string& member : port.netdev->bond().members())
    for (const v1::NetInterface& netdev : port.node->snapshot.net_interfaces())
      if (netdev.name() == member && netdev.has_dcb()) return &netdev.dcb();
  return nullptr;
}

std::optional<std::uint64_t> PfcMask(const fleet::PortView& port) {
  if (!IsUp(port) || !IsRoce(port)) return {};
  const v1::DcbConfig* const settings = SettingsOf(port);
  if (settings == nullptr || !settings->has_pfc()) return {};
  return settings->pfc().enabled_mask() & 0xffU;
}

}  // namespace fabric::rules
