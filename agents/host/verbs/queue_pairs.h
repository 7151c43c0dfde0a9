// Queue pairs for probes: reliable connections and datagrams. Opened by Verbs; destroyed whole, so
// that nothing of them stays in the driver. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

// What the other end must know. GIDs are the sixteen bytes in network order as text,
// "fe80:0000:...", as everywhere in the tree.
struct Endpoint {
  struct QueuePair {
    std::uint32_t number = 0;
    std::uint32_t packet_sequence_number = 0;
  };
  std::vector<QueuePair> queue_pairs;  // Number n of one end talks to number n of the other.
  std::uint32_t queue_key = 0;         // Of datagrams
  std::string gid;
  std::uint32_t gid_index = 0;
  std::uint32_t lid = 0;
  std::uint32_t active_mtu_bytes = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t memory_bytes = 0;
  std::uint32_t outstanding_reads = 0;  // That each queue pair answers at once
};

// The port that queue pairs are opened on.
struct PortOptions {
  std::string device;
  std::uint32_t port = 1;
  std::uint32_t gid_index = 0;
};

struct RcOptions {
  PortOptions at;
  std::uint32_t queue_pairs = 1;
  std::uint32_t memory_bytes = 0;         // Registered for local use, remote write and remote read
  std::uint32_t send_queue_depth = 1;     // Of each queue pair
  std::uint32_t receive_queue_depth = 1;  // Of each queue pair
  std::uint32_t inline_bytes = 0;         // Writes and sends up to this go inline if the driver can
};

// How a queue pair is connected. The defaults are what NCCL and perftest use: a lost packet is sent
// again after 4.096 us << 14 = 67 ms at the earliest; after eight tries the request fails, so that
// a dead partner is seen within seconds.
struct ConnectionSettings {
  std::uint32_t path_mtu_bytes = 0;  // 256 to 4096
  std::uint32_t timeout = 14;        // 4.096 us << timeout; 0: never
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;  // 7: without end
  std::uint32_t service_level = 0;
  std::uint32_t flow_label = 0;  // 0: the driver derives it from the queue pair numbers.
  std::uint32_t traffic_class = 0;
};

// Memory that somebody else allocated: of a GPU.
struct DeviceMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int dma_buf = -1;  // Descriptor; -1: the address itself is registered, by the peer memory client
  std::uint64_t dma_buf_offset = 0;
};

// What requests and the other end must know of it.
struct RegisteredMemory {
  std::uint32_t region = 0;  // Of WorkRequest
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

// Where requests go in memory of the peer that is not its memory().
struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

enum class Operation { kWrite, kRead, kSend, kReceive };

// Moves memory()[offset, offset + bytes): to or from the same offset of the peer's memory for
// writes and reads; sends end where the peer's next receive says. Of receives all complete.
struct WorkRequest {
  Operation operation = Operation::kWrite;
  std::uint32_t queue_pair = 0;  // From 0 on
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint64_t id = 0;                     // Below 2^40
  std::uint32_t region = 0;                 // Own memory; 0: memory()
  std::optional<RemoteMemory> remote = {};  // Absent: the peer's memory()
  bool signaled = true;  // Whether success gives a completion; failure always does.
};

struct Completion {
  std::uint64_t work_request_id = 0;
  std::uint32_t queue_pair = 0;
  bool received = false;  // Of a receive
  bool ok = true;
  std::string error;  // "transport retry counter exceeded (12), vendor syndrome 0x81"
};

// RC queue pairs with one completion queue and one memory.
class RcQueuePairs {
 public:
  virtual ~RcQueuePairs() = default;
  virtual Endpoint local() const = 0;
  // One queue pair to RTR and RTS. FAILED_PRECONDITION and others as the driver says, with the step
  // ("to RTR") in the message. Receives may be posted before.
  virtual Status Connect(std::uint32_t queue_pair, const Endpoint& remote,
                         const ConnectionSettings& settings) = 0;
  virtual std::span<std::byte> memory() = 0;  // Written by the peer at any time.
  // Registers memory for local use, remote write and remote read, beside memory(). The driver's
  // error: EFAULT where no peer memory client knows the address, EOPNOTSUPP or EPROTONOSUPPORT
  // where the driver does not take dma-bufs.
  virtual Result<RegisteredMemory> Register(const DeviceMemory& memory) = 0;
  virtual void Unregister(std::uint32_t region) = 0;
  virtual Status Post(const WorkRequest& request) = 0;
  // Completions that are there now; never waits. At most `completions.size()`. Requests of one
  // queue pair and direction complete in order: one tells of all before it.
  virtual Result<std::size_t> Poll(std::span<Completion> completions) = 0;
};

struct UdOptions {
  PortOptions at;
  std::uint32_t flows = 1;  // That are told apart by the network
  std::uint32_t payload_bytes_max = 0;
  std::uint32_t sends_max = 1;     // Outstanding ones, all paths together
  std::uint32_t receives_max = 1;  // That wait to be polled, of each queue pair; more are lost.
  bool events = false;             // Whether Arm() and event_fd() are wanted
};

// From this end to one peer.
struct UdPath {
  std::uint32_t flow = 0;  // Below UdOptions.flows
  std::uint32_t service_level = 0;
  std::uint32_t flow_label = 0;  // 0: chosen by the driver
  std::uint32_t traffic_class = 0;
};

struct UdSend {
  std::uint64_t id = 0;
  bool solicited = false;  // Whether it wakes up a partner that armed for such alone
};

// What an armed event tells of.
enum class UdEvents {
  kSolicited,  // Datagrams that came and were sent as solicited
  kAll,        // Those that left, too
};

// A datagram that came, or the completion of one that was sent.
struct Datagram {
  bool arrived = false;
  bool ok = true;
  std::string error;
  std::uint64_t id = 0;                // Of Send(); nothing when it arrived
  std::span<const std::byte> payload;  // What arrived; until the next Poll()
  std::uint64_t ticks = 0;             // When, on the clock that Elapsed() reads
};

// UD queue pairs of one port, for any number of peers. One queue pair carries all flows, told
// apart by the flow label of their address handles; where the driver ignores labels (soft RoCE),
// each flow has a queue pair of its own, of whose number the driver makes the label.
class UdQueuePairs {
 public:
  virtual ~UdQueuePairs() = default;
  virtual const Endpoint& local() const = 0;
  virtual bool queue_pair_per_flow() const = 0;
  // Whether ticks are the adapter's own. Else they are read as a completion is polled.
  virtual bool hardware_clock() const = 0;
  // Between two ticks of this object; negative when `to` is the earlier one.
  virtual Duration Elapsed(std::uint64_t from, std::uint64_t to) const = 0;
  // An address handle towards a peer; the number is for Send(). On Ethernet the kernel asks for the
  // peer's hardware address first, which takes a second or more where nobody answers
  // (DEADLINE_EXCEEDED or UNAVAILABLE then). From any thread, as RemovePath().
  virtual Result<std::uint32_t> AddPath(const Endpoint& remote, const UdPath& path) = 0;
  // What is being sent over it still leaves. The number may come again.
  virtual void RemovePath(std::uint32_t path) = 0;
  virtual Status Send(std::uint32_t path, std::span<const std::byte> payload,
                      const UdSend& options) = 0;
  // What happened until now; never waits.
  virtual Result<std::size_t> Poll(std::span<Datagram> datagrams) = 0;
  // Makes event_fd() readable with the next such thing that happens: poll until nothing is there,
  // arm, and poll once more, for what came in between. Of UdOptions.events alone.
  virtual Status Arm(UdEvents events) = 0;
  virtual int event_fd() const = 0;  // -1 without UdOptions.events
};

}  // namespace fabric::host
