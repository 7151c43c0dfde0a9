// libibverbs behind an interface: port attributes for inspection, queue pairs for probes.
// The only place where verbs are called.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agents/host/verbs/queue_pairs.h"
#include "base/status.h"

namespace fabric::host {

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
  std::vector<Slot> gids;        // Of the GID tables those that are in use
};

class Verbs {
 public:
  virtual ~Verbs() = default;
  // UNIMPLEMENTED when captured, NOT_FOUND for no such device, PERMISSION_DENIED without access to
  // /dev/infiniband/uverbs*. Safe from any thread. No device stays open between calls: an open
  // one would hold up the removal of its driver.
  virtual Result<VerbsPort> QueryPort(const std::string& device, std::uint32_t port) = 0;
  // All that many ports of a device and their GID tables, for one opening and few calls: tables
  // have up to a thousand slots, most of them empty, and a file for each. The failures of
  // QueryPort().
  virtual Result<VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) = 0;
  virtual Result<std::unique_ptr<RcQueuePairs>> OpenRc(const RcOptions& options) = 0;
  virtual Result<std::unique_ptr<UdQueuePairs>> OpenUd(const UdOptions& options) = 0;
  // Whether the driver registers memory that is given as a dma-buf: asked with a file descriptor
  // that is none, which a driver that can refuses for that reason alone. Nothing is registered.
  // Failures of QueryPort(), and what the driver said when it was neither.
  virtual Result<bool> TakesDmaBuf(const std::string& device) = 0;
};

std::unique_ptr<Verbs> OpenVerbs();
std::unique_ptr<Verbs> NoVerbs();

}  // namespace fabric::host
