// Ethtool client (get side): data of `ethtool -i`, `-S`, `-a`, `-m`, `--show-fec` and `ethtool
// DEV`, by ioctl(SIOCETHTOOL) and netlink. Source: include/uapi/linux/ethtool.h, ethtool_netlink.h.
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

// Bytes in the EEPROM of a pluggable module: up to 128, within one half of a page.
struct ModulePlace {
  std::uint8_t i2c_address = 0x50;
  std::uint8_t page = 0;
  std::uint32_t offset = 0;
  std::uint32_t length = 128;
};

// Modes by name: "rs", "baser", "off", "auto", "llrs".
struct FecModes {
  std::vector<std::string> configured;
};

inline constexpr std::uint16_t kPfcStormPreventionAuto = 0xffff;

class Ethtool {
 public:
  virtual ~Ethtool() = default;
  // UNIMPLEMENTED: the driver does not report it, or a captured tree. Safe from any thread.
  virtual Result<DriverInfo> Driver(const std::string& netdev) = 0;
  // In the driver's order. Reads the names each time: drivers add and remove them.
  virtual Result<std::vector<NamedCounter>> Statistics(const std::string& netdev) = 0;
  // Statistics() in two parts, for frequent reading: values are one call. Names in the driver's
  // order; a name that is not text is empty.
  virtual Result<std::vector<std::string>> StatisticNames(const std::string& netdev) = 0;
  // In the order of the names. A different number than names means that the driver has changed
  // them: read the names again.
  virtual Status StatisticValues(const std::string& netdev, std::vector<std::uint64_t>& values) = 0;
  virtual Result<PauseParameters> Pause(const std::string& netdev) = 0;
  virtual Result<LinkSettings> Link(const std::string& netdev) = 0;
  // Active forward error correction: "off", "rs", "baser", "llrs", or "auto" where the driver
  // reports only that.
  virtual Result<std::string> Fec(const std::string& netdev) = 0;
  virtual Result<host::FecModes> FecModes(const std::string& netdev) = 0;
  // Statistics of forward error correction, by ethtool netlink: "corrected_blocks",
  // "uncorrectable_blocks", "corrected_bits", those that the driver counts. UNIMPLEMENTED when it
  // counts none, and before Linux 5.13.
  virtual Result<std::vector<NamedCounter>> FecStatistics(const std::string& netdev) = 0;
  // By ethtool netlink, since Linux 5.13. PERMISSION_DENIED without CAP_NET_ADMIN.
  virtual Result<std::vector<std::uint8_t>> ModuleEeprom(const std::string& netdev,
                                                         const ModulePlace& place) = 0;
  // Pause time in ms after which the port drops, ETHTOOL_PFC_PREVENTION_TOUT: 0 for never,
  // kPfcStormPreventionAuto for the driver's choice. A driver without it returns UNIMPLEMENTED, or
  // INVALID_ARGUMENT.
  virtual Result<std::uint16_t> PfcStormPreventionMs(const std::string& netdev) = 0;
};

// Speed in Mb/s as the kernel reports it (0xffffffff and 0: unknown) and the map of supported link
// modes, 32 a word.
LinkSettings DecodeLinkModes(std::uint32_t speed_mbps, std::span<const std::uint32_t> supported);

std::unique_ptr<Ethtool> OpenEthtool();
std::unique_ptr<Ethtool> NoEthtool();

}  // namespace fabric::host
