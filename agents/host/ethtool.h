// What `ethtool -i`, `-S`, `-a`, `--show-fec` and `ethtool DEV` read, by ioctl(SIOCETHTOOL). Get
// side only. Source: include/uapi/linux/ethtool.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/host/netlink/rdma_netlink.h"
#include "base/status.h"

namespace fabric::host {

struct DriverInfo {
  std::string driver;
  std::string version;
  std::string firmware;
  std::string bus_info;
};

struct PauseParameters {
  bool autonegotiate = false;
  bool rx = false;
  bool tx = false;
};

struct LinkSettings {
  std::optional<std::uint64_t> speed_bps;      // Absent: unknown to the driver, or no link.
  std::optional<std::uint64_t> speed_max_bps;  // Of the link modes that the port supports.
  std::optional<std::uint32_t> lanes;  // Where all supported modes of that speed agree on it.
  bool autonegotiation = false;
};

inline constexpr std::uint16_t kPfcStormPreventionAuto = 0xffff;

class Ethtool {
 public:
  virtual ~Ethtool() = default;
  // UNIMPLEMENTED: the driver does not report it, or a captured tree. Safe from any thread.
  virtual Result<DriverInfo> Driver(const std::string& netdev) = 0;
  // In the driver's order. Strings are read anew each time: drivers add and remove them.
  virtual Result<std::vector<NamedCounter>> Statistics(const std::string& netdev) = 0;
  // The same in two halves, for one who asks every second: the values are one call without names.
  // Names in the driver's order; one that is no text is empty.
  virtual Result<std::vector<std::string>> StatisticNames(const std::string& netdev) = 0;
  // In the order of the names. When there are more or fewer than names, the driver has changed
  // them. Ask for the names first.
  virtual Status StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) = 0;
  virtual Result<PauseParameters> Pause(const std::string& netdev) = 0;
  virtual Result<LinkSettings> Link(const std::string& netdev) = 0;
  // Active forward error correction: "off", "rs", "baser", "llrs", or "auto" where the driver says
  // no more.
  virtual Result<std::string> Fec(const std::string& netdev) = 0;
  // After how many ms of being paused the port drops, ETHTOOL_PFC_PREVENTION_TOUT: 0 is never,
  // kPfcStormPreventionAuto the driver's choice. INVALID_ARGUMENT is how some drivers,
  // UNIMPLEMENTED how most say that they have no such thing.
  virtual Result<std::uint16_t> PfcStormPreventionMs(const std::string& netdev) = 0;
};

// Speed in Mb/s as the kernel reports it (0xffffffff and 0: unknown) and the map of supported link
// modes, 32 a word.
LinkSettings DecodeLinkModes(std::uint32_t speed_mbps, std::span<const std::uint32_t> supported);

std::unique_ptr<Ethtool> OpenEthtool();
std::unique_ptr<Ethtool> NoEthtool();

}  // namespace fabric::host
