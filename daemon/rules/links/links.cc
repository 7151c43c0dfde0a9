#include "daemon/rules/links/links.h"

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/remedies.h"
#include "proto/names.h"

namespace fabric::rules {

namespace {

// Drivers that compute the RDMA port's rate from the speed of the link. Others show a constant.
bool HasRealRate(const fleet::PortView& port) {
  const std::string_view driver = port.device->driver();
  return driver.starts_with("mlx5") || driver.starts_with("bnxt");
}

}  // namespace

std::optional<std::uint64_t> LinkRate(const fleet::PortView& port) {
  if (!port.rail || !IsUp(port)) return {};
  if (port.device->function().kind() == v1::FUNCTION_KIND_SOFTWARE) return {};
  if (IsInfiniband(port)) {
    if (!port.port->has_rate_bps()) return {};
    return port.port->rate_bps();
  }
  if (port.netdev != nullptr && port.netdev->speed_bps() != 0) return port.netdev->speed_bps();
  if (!HasRealRate(port) || port.port->rate_bps() == 0) return {};
  return port.port->rate_bps();
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
  const bool of_netdev = port.netdev != nullptr && port.netdev->speed_bps() != 0;
  const bool of_port = IsInfiniband(port) || (!of_netdev && LinkRate(port));
  return of_port ? PortFile(port, "rate") : NetdevFile(port, "speed");
}

std::vector<v1::Remedy> RateRemedies(const fleet::PortView& port) {
  if (IsInfiniband(port))
    return {QueryPortInfo(
        port,
        "If LinkSpeedEnabled or LinkWidthEnabled is below the supported value, set it with "
        "ibportstate, and reset the link. Else check cable, module and switch port.")};
  std::vector<v1::Remedy> remedies = {
      Query({.command = Format("ethtool {}", port.port->netdev()),
             .note = "Compare the advertised modes of both ends. Then check cable and module "
                     "(ethtool -m) and the configuration of the switch port."})};
  if (port.netdev != nullptr && port.netdev->has_autonegotiation() &&
      !port.netdev->autonegotiation())
    remedies.push_back(SetAutonegotiation(port.port->netdev(), true,
                                          "The speed was set manually. The switch port has to "
                                          "negotiate, too, or the link stays down."));
  return remedies;
}

std::optional<std::uint64_t> NetdevMtu(const fleet::PortView& port) {
  if (!IsUp(port) || IsInfiniband(port)) return {};
  if (port.netdev == nullptr || !port.netdev->has_mtu_bytes()) return {};
  return port.netdev->mtu_bytes();
}

std::uint32_t RdmaMtuWithin(std::uint32_t bytes) {
  std::uint32_t mtu = 256;
  while (mtu < 4096 && 2 * mtu <= bytes) mtu *= 2;
  return mtu;
}

}  // namespace fabric::rules
