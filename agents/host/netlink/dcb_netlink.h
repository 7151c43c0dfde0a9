// DCB netlink client (get side): data of `dcb pfc|ets|app|buffer|maxrate|apptrust|dcbx show`.
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

struct DcbBuffers {
  std::array<std::uint8_t, 8> priority_to_buffer{};
  std::array<std::uint32_t, 8> size_bytes{};
  std::uint32_t total_bytes = 0;
};

// Reply to one request. Absent members: not supported by the driver.
struct DcbIeee {
  std::optional<DcbPfc> pfc;
  std::optional<DcbEts> ets;
  std::optional<std::vector<DcbApp>> app;  // Nearly always present: the kernel keeps the table.
  // By traffic class, 0: unlimited. In the unit of the kernel and the driver; iproute2's `dcb
  // maxrate` interprets the numbers as bytes per second.
  std::optional<std::array<std::uint64_t, 8>> max_rate_kbps;
  std::optional<DcbBuffers> buffers;
  std::optional<std::vector<std::uint8_t>> app_trust;  // Selectors, most trusted first
  std::optional<DcbPfc> peer_pfc;  // From the link partner, where the driver runs DCBX
  std::optional<DcbEts> peer_ets;
  std::optional<std::vector<DcbApp>> peer_app;
  std::optional<std::uint8_t> dcbx;  // DCB_CAP_DCBX_* bits
};

// The older CEE dialect, for drivers without IEEE.
struct DcbCee {
  std::optional<std::uint8_t> pfc_enabled_mask;
  // Selectors are IEEE's: CEE's "port number" of TCP or UDP is "any".
  std::optional<std::vector<DcbApp>> app;
};

class DcbNetlink {
 public:
  virtual ~DcbNetlink() = default;
  // UNIMPLEMENTED for a driver without DCB and a captured tree, NOT_FOUND for an unknown netdev.
  // One request each. Blocks for at most 1 s. One thread at a time.
  virtual Result<DcbIeee> Ieee(const std::string& netdev) = 0;
  virtual Result<DcbCee> Cee(const std::string& netdev) = 0;
};

std::unique_ptr<DcbNetlink> OpenDcbNetlink();
std::unique_ptr<DcbNetlink> NoDcbNetlink();
std::unique_ptr<DcbNetlink> OpenDcbNetlink(NetlinkClient client);  // For tests: a fake kernel

// Parsers of one reply datagram; errors as for ParseRdmaDevices.
Result<DcbIeee> ParseDcbIeee(std::span<const std::byte> datagram);
Result<DcbCee> ParseDcbCee(std::span<const std::byte> datagram);

}  // namespace fabric::host
