// Probe kinds: what one end of a probe does once both ends are connected.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agents/host/verbs/verbs.h"
#include "agents/probe/attendance.h"
#include "agents/probe/gpu/gpu_regions.h"
#include "agents/probe/port_watch.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// The own node's GPUs, for kinds that want them.
struct RunGpus {
  host::GpuMemory* memory = nullptr;  // nullptr: there is no access to any.
  FindGpus find = {};
  std::string device = {};  // Of the own port
  bool initiates = false;
  std::unique_ptr<GpuRegions> regions = {};
};

// What a kind may use while it runs. `stopped` turns true when the controller said stop or the time
// is over; long loops ask it at least every millisecond or so of work.
struct ProbeRun {
  const v1::ProbeSpec& spec;
  // One of these two, the one whose options needs() gave.
  host::RcQueuePairs* queue_pairs = nullptr;
  host::UdQueuePairs* datagrams = nullptr;
  const Clock& clock;
  std::function<bool()> stopped;
  std::function<void()> await_stop;     // Sleeps until stopped() is true.
  std::function<void(Duration)> pause;  // Sleeps so long, or until stopped() is true.
  // Once the partner is known: after prepare().
  host::Endpoint remote = {};
  host::ConnectionSettings settings = {};
  PortWatch watch = {};  // Of the own port
  RunGpus gpus = {};
  // The kind says who made void what it measured, where nothing is left that tells of the network.
  Late late = Late::kNobody;
};

// What a kind needs to be opened: sizes; the port comes from the caller.
using ProbeNeeds = std::variant<host::RcOptions, host::UdOptions>;

// A stateless value. The functions run on the probe's own thread. A kind that ends because of
// stopped() says TIMED_OUT and what it was waiting for; its caller knows whether it was a stop.
struct ProbeKind {
  std::string_view name;  // The oneof arm of ProbeSpec: "rc_write_latency"
  std::string_view doc;
  // INVALID_ARGUMENT when the numbers of the spec are out of bounds; says which and the bounds.
  Status (*check)(const v1::ProbeSpec& spec);
  ProbeNeeds (*needs)(const v1::ProbeSpec& spec);
  // Optional: what both ends do before the partner hears of them, such as posting receives.
  // FAILED_PRECONDITION: the node lacks what the kind needs; the probe is refused.
  Status (*prepare)(ProbeRun& run) = nullptr;
  // Optional: settings of one queue pair that are not those of the probe. False: it stays
  // unconnected. Both ends come to the same.
  bool (*tune)(const v1::ProbeSpec& spec, std::uint32_t queue_pair,
               host::ConnectionSettings& settings) = nullptr;
  void (*initiate)(ProbeRun& run, v1::ProbeResult& result);
  void (*respond)(ProbeRun& run, v1::ProbeResult& result);
  // Whether a port may be the responder's in several probes of this kind at one time.
  bool shares_responder_port = false;
};

std::span<const ProbeKind* const> AllProbeKinds();  // Generated; see CMakeLists.txt.

// nullptr when no kind of that name exists.
const ProbeKind* FindProbeKind(std::string_view name);

}  // namespace fabric::probe
