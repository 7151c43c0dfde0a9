#include "daemon/rules/links/link.h"

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "proto/names.h"

namespace fabric::rules {

std::optional<std::uint64_t> LinkRate(const fleet::PortView& port) {
  if (!port.rail || !IsUp(port)) return {};
  if (port.device->function().kind() == v1::FUNCTION_KIND_SOFTWARE) return {};
  if (IsInfiniband(port)) {
    if (!port.port->has_rate_bps()) return {};
    return port.port->rate_bps();
  }
  if (port.netdev == nullptr || port.netdev->speed_bps() == 0) return {};
  return port.netdev->speed_bps();
}

bool IsFarBelowMaximum(const fleet::PortView& port) {
  constexpr std::uint64_t kFar = 8;
  if (IsInfiniband(port) || port.netdev == nullptr) return false;
  const auto rate = LinkRate(port);
  return rate && port.netdev->has_speed_max_bps() && *rate <= port.netdev->speed_max_bps() / kFar;
}

bool IsSingleLane(const fleet::PortView& port) {
  return IsInfiniband(port) && port.port->width() == 1;
}

std::string ShowRate(const Value& value) {
  return BitRate(static_cast<double>(value.number));
}

std::string RateSource(const fleet::PortView& port) {
  return IsInfiniband(port) ? PortFile(port, "rate") : NetdevFile(port, "speed");
}

std::vector<v1::Remedy> RateRemedies(const fleet::PortView& port) {
  if (IsInfiniband(port))
    return {ToRemedy({.command = Format("iblinkinfo -D 0 && ibportstate {} {} query",
                                        port.port->lid(), port.port->number()),
                      .note = "LinkSpeedEnabled or LinkWidthEnabled below what is supported: "
                              "ibportstate sets it. Else cable, module, or the switch port."})};
  return {ToRemedy({.command = Format("ethtool {}", port.port->netdev()),
                    .note = "Compare the advertised modes of both ends; then cable and module "
                            "(ethtool -m), and the configuration of the switch port."}),
          ToRemedy({.command = Format("ethtool -s {} autoneg on", port.port->netdev()),
                    .interrupts_traffic = true,
                    .note = "When the speed was fixed by hand."})};
}

}  // namespace fabric::rules
