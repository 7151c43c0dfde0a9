// libibverbs behind an interface: port attributes for inspection, RC queue pairs for probes.
// The only place where verbs are called.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

// What the other end of a queue pair must know. GIDs are the sixteen bytes in network order as
// text, "fe80:0000:...", as everywhere in the tree.
struct RcEndpoint {
  std::uint32_t queue_pair_number = 0;
  std::uint32_t packet_sequence_number = 0;
  std::string gid;
  std::uint32_t gid_index = 0;
  std::uint32_t lid = 0;
  std::uint32_t active_mtu_bytes = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t memory_bytes = 0;
};

struct RcOptions {
  std::string device;
  std::uint32_t port = 1;
  std::uint32_t gid_index = 0;
  std::uint32_t memory_bytes = 0;  // Registered for local use and remote write
  std::uint32_t send_queue_depth = 1;
  std::uint32_t inline_bytes = 0;  // Writes up to this go inline if the driver can; 0: never
};

struct Completion {
  std::uint64_t work_request_id = 0;
  bool ok = true;
  std::string error;  // "transport retry counter exceeded (12), vendor syndrome 0x81"
};

// One RC queue pair with its own completion queue and memory. Destroyed whole. One thread at a
// time.
class RcQueuePair {
 public:
  virtual ~RcQueuePair() = default;
  virtual RcEndpoint local() const = 0;
  // To RTR and RTS. path_mtu is the smaller of both ends. FAILED_PRECONDITION and others as the
  // driver says, with the step ("to RTR") in the message.
  virtual Status Connect(const RcEndpoint& remote, std::uint32_t traffic_class) = 0;
  virtual std::span<std::byte> memory() = 0;  // Written by the peer at any time.
  // RDMA write of memory()[offset, offset + bytes) to the same offset of the peer's memory.
  virtual Status PostWrite(std::uint32_t offset, std::uint32_t bytes, std::uint64_t id,
                           bool signaled) = 0;
  // Completions that are there now; never waits. At most `completions.size()`.
  virtual Result<std::size_t> Poll(std::span<Completion> completions) = 0;
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
  virtual Result<std::unique_ptr<RcQueuePair>> OpenRc(const RcOptions& options) = 0;
  // Whether the driver registers memory that is given as a dma-buf: asked with a file descriptor
  // that is none, which a driver that can refuses for that reason alone. Nothing is registered.
  // Failures of QueryPort(), and what the driver said when it was neither.
  virtual Result<bool> TakesDmaBuf(const std::string& device) = 0;
};

std::unique_ptr<Verbs> OpenVerbs();
std::unique_ptr<Verbs> NoVerbs();

}  // namespace fabric::host
