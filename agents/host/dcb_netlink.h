// DCB netlink, get side only: what `dcb pfc|ets|app|dcbx show` ask.
// Source: include/uapi/linux/dcbnl.h, net/dcb/dcbnl.c.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

class NetlinkClient;

struct DcbPfc {
  std::uint8_t capability = 0;
  std::uint8_t enabled_mask = 0;
  bool mbc = false;
  std::uint16_t delay = 0;
  std::array<std::uint64_t, 8> requests{};     // Sent, per priority
  std::array<std::uint64_t, 8> indications{};  // Received, per priority
};

struct DcbEts {
  bool willing = false;
  std::uint8_t capability = 0;
  std::array<std::uint8_t, 8> tc_tx_bandwidth_percent{};
  std::array<std::uint8_t, 8> tc_algorithm{};
  std::array<std::uint8_t, 8> priority_to_tc{};
};

struct DcbApp {
  std::uint8_t selector = 0;
  std::uint8_t priority = 0;
  std::uint16_t protocol = 0;
};

struct DcbIeee {
  std::optional<DcbPfc> pfc;
  std::optional<DcbEts> ets;
  std::optional<std::vector<DcbApp>> app;
};

class DcbNetlink {
 public:
  virtual ~DcbNetlink() = default;
  // UNIMPLEMENTED: the driver has no DCB at all, or a captured tree. NOT_FOUND: no such netdev.
  // Blocks for at most a second. Safe to call from one thread at a time.
  virtual Result<DcbIeee> Ieee(const std::string& netdev) = 0;
  virtual Result<std::uint8_t> Dcbx(const std::string& netdev) = 0;  // DCB_CAP_DCBX_* bits
};

std::unique_ptr<DcbNetlink> OpenDcbNetlink();
std::unique_ptr<DcbNetlink> NoDcbNetlink();
std::unique_ptr<DcbNetlink> OpenDcbNetlink(NetlinkClient client);  // For tests: any kernel.

// Parsers of one reply datagram; see ParseRdmaDevices for errors.
Result<DcbIeee> ParseDcbIeee(std::span<const std::byte> datagram);
Result<std::uint8_t> ParseDcbx(std::span<const std::byte> datagram);

}  // namespace fabric::host
