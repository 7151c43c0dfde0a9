// What `ethtool -i`, `-S`, `-a` and `ethtool DEV` read, by ioctl(SIOCETHTOOL). Get side only.
// Source: include/uapi/linux/ethtool.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/host/rdma_netlink.h"
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

class Ethtool {
 public:
  virtual ~Ethtool() = default;
  // UNIMPLEMENTED: the driver does not report it, or a captured tree. Safe from any thread.
  virtual Result<DriverInfo> Driver(const std::string& netdev) = 0;
  // In the driver's order. Strings are read anew each time: drivers add and remove them.
  virtual Result<std::vector<NamedCounter>> Statistics(const std::string& netdev) = 0;
  virtual Result<PauseParameters> Pause(const std::string& netdev) = 0;
};

std::unique_ptr<Ethtool> OpenEthtool();
std::unique_ptr<Ethtool> NoEthtool();

}  // namespace fabric::host
