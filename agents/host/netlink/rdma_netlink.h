// RDMA netlink client: data of `rdma dev`, `rdma link` and `rdma statistic`.
// Source: include/uapi/rdma/rdma_netlink.h, drivers/infiniband/core/nldev.c. Requests are
// read-only and need no privilege.
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
  // Registered memory is copied for a child process. Absent before Linux 5.12.
  std::optional<bool> copy_on_fork;
};

class RdmaNetlink {
 public:
  virtual ~RdmaNetlink() = default;
  // Block for at most 1 s. UNIMPLEMENTED: no RDMA netlink, a captured tree, or EINVAL from the
  // kernel (driver without counters, unknown port, removed device). One thread at a time.
  virtual Result<std::vector<RdmaDeviceInfo>> Devices() = 0;
  virtual Result<std::vector<RdmaLinkInfo>> Links(std::uint32_t device_index) = 0;
  // Hardware counters of one port, read from the hardware; names as in sysfs hw_counters.
  virtual Result<std::vector<NamedCounter>> Counters(std::uint32_t device_index,
                                                     std::uint32_t port) = 0;
  virtual Result<RdmaSystemInfo> System() = 0;  // Data of `rdma system`.
  // PIDs of the processes that have a protection domain on the device: sorted, each once. Data of
  // `rdma resource show pd`. Without processes of other PID namespaces.
  virtual Result<std::vector<std::uint32_t>> Processes(std::uint32_t device_index) = 0;
};

std::unique_ptr<RdmaNetlink> OpenRdmaNetlink();  // Never null: each call returns the error.
std::unique_ptr<RdmaNetlink> NoRdmaNetlink();    // For captured trees: UNIMPLEMENTED.
std::unique_ptr<RdmaNetlink> OpenRdmaNetlink(NetlinkClient client);  // For tests: a fake kernel

// Parsers of reply datagrams with one or several messages. INVALID_ARGUMENT for truncated or
// inconsistent input. Skip unknown attributes.
Result<std::vector<RdmaDeviceInfo>> ParseRdmaDevices(std::span<const std::byte> datagram);
Result<std::vector<RdmaLinkInfo>> ParseRdmaLinks(std::span<const std::byte> datagram);
Result<std::vector<NamedCounter>> ParseRdmaCounters(std::span<const std::byte> datagram);
Result<RdmaSystemInfo> ParseRdmaSystem(std::span<const std::byte> datagram);
Result<std::vector<std::uint32_t>> ParseRdmaProcesses(std::span<const std::byte> datagram);

}  // namespace fabric::host
