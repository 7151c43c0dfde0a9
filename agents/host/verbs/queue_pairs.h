// Queue pairs for probes: reliable connections (RC) and datagrams (UD). Opened by Verbs; the
// destructor releases all driver resources. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

// Address for the other end. GIDs are text, "fe80:0000:...", eight groups in network order.
struct Endpoint {
  struct QueuePair {
    std::uint32_t number = 0;
    std::uint32_t packet_sequence_number = 0;
  };
  std::vector<QueuePair> queue_pairs;  // Queue pair n of one end connects to n of the other.
  std::uint32_t queue_key = 0;         // UD only
  std::string gid;
  std::uint32_t gid_index = 0;
  std::uint32_t lid = 0;
  std::uint32_t active_mtu_bytes = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t memory_bytes = 0;
  std::uint32_t outstanding_reads = 0;  // Responder depth of each queue pair
};

// Port of the queue pairs.
struct PortOptions {
  std::string device;
  std::uint32_t port = 1;
  std::uint32_t gid_index = 0;
  std::optional<std::uint16_t> pkey = {};  // Without bit 15. Absent: the P_Key at index 0
};

struct RcOptions {
  PortOptions at;
  std::uint32_t queue_pairs = 1;
  std::uint32_t memory_bytes = 0;         // Registered for local use, remote write and remote read
  std::uint32_t send_queue_depth = 1;     // Per queue pair
  std::uint32_t receive_queue_depth = 1;  // Per queue pair
  std::uint32_t inline_bytes = 0;  // Writes and sends up to this size are inline if supported
  bool atomics = false;            // Atomics on the memory. UNIMPLEMENTED if the device has none.
};

// Connection of a queue pair. Defaults as in NCCL and perftest: a lost packet is retransmitted
// after at least 4.096 us << 14 = 67 ms; a request fails after eight tries, so that a dead partner
// is detected within seconds.
struct ConnectionSettings {
  std::uint32_t path_mtu_bytes = 0;  // 256 to 4096
  std::uint32_t timeout = 14;        // 4.096 us << timeout; 0: never
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;  // 7: unlimited
  std::uint32_t service_level = 0;
  std::uint32_t flow_label = 0;  // 0: the driver derives it from the queue pair numbers.
  std::uint32_t traffic_class = 0;
};

// Memory allocated elsewhere, for example on a GPU.
struct DeviceMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int dma_buf = -1;  // Descriptor; -1: register the address, by the peer memory client
  std::uint64_t dma_buf_offset = 0;
};

// Keys for requests and for the other end.
struct RegisteredMemory {
  std::uint32_t region = 0;  // For WorkRequest
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

// Target in memory of the peer other than its memory().
struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

enum class Operation { kWrite, kRead, kSend, kReceive, kFetchAdd, kCompareSwap };

// Transfers memory()[offset, offset + bytes): writes and reads use the same offset of the peer's
// memory; sends go to the peer's next receive. Atomics change 8 bytes at the same offset of the
// peer's memory, and put their previous value into the own one. All receives complete.
struct WorkRequest {
  Operation operation = Operation::kWrite;
  std::uint32_t queue_pair = 0;  // From 0
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint64_t id = 0;                     // Below 2^40
  std::uint32_t region = 0;                 // Local memory; 0: memory()
  std::optional<RemoteMemory> remote = {};  // Absent: the peer's memory()
  std::uint64_t operand = 0;                // Of atomics: to add, or to store
  std::uint64_t compare = 0;                // Of kCompareSwap
  bool signaled = true;                     // Whether success completes; failure always does.
};

// What a completion with an error says about the cause.
enum class FailedBy : std::uint8_t {
  kNoAnswer,  // The path, or a peer that does not answer
  kThisEnd,   // The program or the adapter of this end
  kPartner,   // The partner answered, and rejected the request
};

// By the status: the number of its enum ibv_wc_status (libibverbs/verbs.h). Meanings: InfiniBand
// specification, "Completion Return Status".
constexpr FailedBy FailedByOf(int status) {
  switch (status) {
    case 12:  // Transport retry counter exceeded
    case 13:  // Receiver-not-ready retry counter exceeded
    case 20:  // Response time-out
      return FailedBy::kNoAnswer;
    case 9:   // Remote invalid request
    case 10:  // Remote access error
    case 11:  // Remote operation error
    case 15:  // Remote invalid RD request
    case 16:  // Remote aborted
      return FailedBy::kPartner;
    default: return FailedBy::kThisEnd;
  }
}

struct Completion {
  std::uint64_t work_request_id = 0;
  std::uint32_t queue_pair = 0;
  bool received = false;  // Completion of a receive
  bool ok = true;
  std::string error;  // "transport retry counter exceeded (12), vendor syndrome 0x81"
  FailedBy failed_by = FailedBy::kNoAnswer;  // Of an error
};

// RC queue pairs with one completion queue and one memory.
class RcQueuePairs {
 public:
  virtual ~RcQueuePairs() = default;
  virtual Endpoint local() const = 0;
  // Moves one queue pair to RTR and RTS. The driver's error with the step ("to RTR"). Receives can
  // be posted before.
  virtual Status Connect(std::uint32_t queue_pair, const Endpoint& remote,
                         const ConnectionSettings& settings) = 0;
  virtual std::span<std::byte> memory() = 0;  // Written by the peer at any time.
  // Registers further memory for local use, remote write and remote read. The driver's error:
  // EFAULT without a peer memory client for the address, EOPNOTSUPP or EPROTONOSUPPORT without
  // dma-buf support.
  virtual Result<RegisteredMemory> Register(const DeviceMemory& memory) = 0;
  virtual void Unregister(std::uint32_t region) = 0;
  virtual Status Post(const WorkRequest& request) = 0;
  // Available completions, at most `completions.size()`; never waits. Requests of one queue pair
  // and direction complete in order: a completion implies all requests before it.
  virtual Result<std::size_t> Poll(std::span<Completion> completions) = 0;
};

struct UdOptions {
  PortOptions at;
  std::uint32_t flows = 1;  // Flows with different paths in the network
  std::uint32_t payload_bytes_max = 0;
  std::uint32_t sends_max = 1;     // Outstanding sends of all paths
  std::uint32_t receives_max = 1;  // Unpolled receives per queue pair; more are lost.
  bool events = false;             // Enables Arm() and event_fd()
};

// Path to one peer.
struct UdPath {
  std::uint32_t flow = 0;  // Below UdOptions.flows
  std::uint32_t service_level = 0;
  std::uint32_t flow_label = 0;  // 0: chosen by the driver
  std::uint32_t traffic_class = 0;
};

struct UdSend {
  std::uint64_t id = 0;
  bool solicited = false;  // Wakes up a partner that armed kSolicited
};

// Completions that trigger an armed event.
enum class UdEvents {
  kSolicited,  // Received datagrams sent as solicited
  kAll,        // All, including sends
};

// A received datagram, or a completed send.
struct Datagram {
  bool arrived = false;
  bool ok = true;
  std::string error;
  std::uint64_t id = 0;                // From Send(); 0 for a received datagram
  std::span<const std::byte> payload;  // Received data; valid until the next Poll()
  std::uint64_t ticks = 0;             // Time on the clock of Elapsed()
};

// UD queue pairs of one port, for any number of peers. One queue pair carries all flows,
// distinguished by the flow labels of their address handles. Where the driver ignores labels (soft
// RoCE), each flow has its own queue pair, because the driver derives the label from its number.
class UdQueuePairs {
 public:
  virtual ~UdQueuePairs() = default;
  virtual const Endpoint& local() const = 0;
  virtual bool queue_pair_per_flow() const = 0;
  // Whether ticks come from the adapter's clock; otherwise they are the time of polling.
  virtual bool hardware_clock() const = 0;
  // Time between two ticks; negative when `to` is earlier.
  virtual Duration Elapsed(std::uint64_t from, std::uint64_t to) const = 0;
  // Creates an address handle; returns its number for Send(). On Ethernet the kernel resolves the
  // peer's hardware address first, which takes a second or more without an answer
  // (DEADLINE_EXCEEDED or UNAVAILABLE). AddPath() and RemovePath() are thread-safe.
  virtual Result<std::uint32_t> AddPath(const Endpoint& remote, const UdPath& path) = 0;
  // Outstanding sends complete. The number can be reused.
  virtual void RemovePath(std::uint32_t path) = 0;
  virtual Status Send(std::uint32_t path, std::span<const std::byte> payload,
                      const UdSend& options) = 0;
  // Available events; never waits.
  virtual Result<std::size_t> Poll(std::span<Datagram> datagrams) = 0;
  // Makes event_fd() readable at the next such event. To miss none: poll until empty, arm, poll
  // again. Needs UdOptions.events.
  virtual Status Arm(UdEvents events) = 0;
  virtual int event_fd() const = 0;  // -1 without UdOptions.events
};

}  // namespace fabric::host
