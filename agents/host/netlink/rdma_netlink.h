// RDMA netlink: what `rdma dev`, `rdma link` and `rdma statistic` ask.
// Source: include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c. Every request here is
// one that needs no privilege and changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

class NetlinkClient;

struct RdmaLinkInfo {  // One port of one device.
  std::uint32_t port = 0;
  std::optional<std::uint8_t> state;
  std::optional<std::uint8_t> physical_state;
  std::optional<std::uint32_t> netdev_index;
  std::optional<std::string> netdev_name;
  std::optional<std::uint64_t> capability_flags;  // InfiniBand only, as are the next four.
  std::optional<std::uint64_t> subnet_prefix;
  std::optional<std::uint32_t> lid;
  std::optional<std::uint32_t> sm_lid;
  std::optional<std::uint8_t> lmc;
};

struct RdmaDeviceInfo {
  std::uint32_t index = 0;
  std::string name;
  std::optional<std::string> firmware;
  std::optional<std::uint64_t> node_guid;  // Host order
  std::optional<std::uint64_t> sys_image_guid;
  std::optional<std::uint8_t> node_type;
  std::optional<std::string> protocol;  // "ib", "roce", "iw", "opa", "usnic"
  std::uint32_t ports = 0;
};

struct NamedCounter {
  std::string name;
  std::uint64_t value = 0;
};

struct RdmaSystemInfo {
  std::optional<bool> netns_shared;  // False: exclusive, each device is in one namespace.
};

class RdmaNetlink {
 public:
  virtual ~RdmaNetlink() = default;
  // All of these block for at most a second. UNIMPLEMENTED: no RDMA netlink on this kernel, a
  // captured tree, or (the kernel answers EINVAL to all of these) a driver without counters, no
  // such port, a device that is gone since. Safe to call from one thread at a time.
  virtual Result<std::vector<RdmaDeviceInfo>> Devices() = 0;
  virtual Result<std::vector<RdmaLinkInfo>> Links(std::uint32_t device_index) = 0;
  // Hardware counters of one port; names as in sysfs hw_counters. Fresh, not the cached ones.
  virtual Result<std::vector<NamedCounter>> Counters(std::uint32_t device_index,
                                                     std::uint32_t port) = 0;
  virtual Result<RdmaSystemInfo> System() = 0;  // What `rdma system` shows.
};

std::unique_ptr<RdmaNetlink> OpenRdmaNetlink();  // Never null: errors come with each call.
std::unique_ptr<RdmaNetlink> NoRdmaNetlink();    // For captured trees: UNIMPLEMENTED.
std::unique_ptr<RdmaNetlink> OpenRdmaNetlink(NetlinkClient client);  // For tests: any kernel.

// Parsers of what the kernel sends: whole datagrams with netlink headers, one or several messages.
// Truncated or inconsistent input is INVALID_ARGUMENT; unknown attributes are skipped.
Result<std::vector<RdmaDeviceInfo>> ParseRdmaDevices(std::span<const std::byte> datagram);
Result<std::vector<RdmaLinkInfo>> ParseRdmaLinks(std::span<const std::byte> datagram);
Result<std::vector<NamedCounter>> ParseRdmaCounters(std::span<const std::byte> datagram);
Result<RdmaSystemInfo> ParseRdmaSystem(std::span<const std::byte> datagram);

}  // namespace fabric::host
