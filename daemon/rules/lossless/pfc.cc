#include "daemon/rules/lossless/pfc.h"

#include "daemon/rules/facts.h"

namespace fabric::rules {

const v1::DcbConfig* SettingsOf(const fleet::PortView& port) {
  if (port.wire == nullptr) return nullptr;
  return port.wire->has_dcb() || !port.netdev->has_bond() ? &port.wire->dcb() : nullptr;
}

std::optional<std::uint64_t> PfcMask(const fleet::PortView& port) {
  if (!IsUp(port) || !IsRoce(port)) return {};
  const v1::DcbConfig* const settings = SettingsOf(port);
  if (settings == nullptr || !settings->has_pfc()) return {};
  return settings->pfc().enabled_mask() & 0xffU;
}

}  // namespace fabric::rules
