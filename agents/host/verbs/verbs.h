// Verbs client (libibverbs): port attributes for inspection, queue pairs for probes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

// queue_pairs.h
class RcQueuePairs;
class UdQueuePairs;
struct RcOptions;
struct UdOptions;

struct VerbsPort {
  std::uint32_t active_mtu_bytes = 0;
  std::uint32_t max_mtu_bytes = 0;
  std::uint32_t gid_table_length = 0;
};

struct VerbsDevice {
  struct Slot {
    std::uint32_t port;
    std::uint32_t index;
  };
  std::vector<VerbsPort> ports;  // From port 1 on
  std::vector<Slot> gids;        // Used entries of the GID tables
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  // UNIMPLEMENTED when captured, NOT_FOUND for no such device, PERMISSION_DENIED without access to
  // /dev/infiniband/uverbs*. Thread-safe. Closes the device after each call: an open device would
  // block the removal of its driver.
  virtual Result<VerbsPort> QueryPort(const std::string& device, std::uint32_t port) = 0;
  // The first `ports` ports of a device and their GID tables with few calls: tables have up to a
  // thousand slots, most of them empty, with one sysfs file each. Errors of QueryPort().
  virtual Result<VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) = 0;
  virtual Result<std::unique_ptr<RcQueuePairs>> OpenRc(const RcOptions& options) = 0;
  virtual Result<std::unique_ptr<UdQueuePairs>> OpenUd(const UdOptions& options) = 0;
  // Whether the driver registers dma-bufs: tried with an invalid file descriptor, which a driver
  // with support rejects as such. Registers nothing. Errors of QueryPort(), and other errors of the
  // driver.
  virtual Result<bool> TakesDmaBuf(const std::string& device) = 0;
};

std::unique_ptr<Verbs> OpenVerbs();
std::unique_ptr<Verbs> NoVerbs();

}  // namespace fabric::host
