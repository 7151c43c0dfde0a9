// Probe kind: the code of both ends of a probe after they are connected.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "agents/host/verbs/verbs.h"
#include "agents/probe/gpu/gpu_regions.h"
#include "agents/probe/port_watch.h"
#include "agents/probe/stall_monitor.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// GPUs of this node, for kinds that use them.
struct RunGpus {
  host::GpuMemory* memory = nullptr;  // nullptr: no access to GPUs
  FindGpus find = {};
  std::string device = {};  // RDMA device of the local port
  bool initiates = false;
  std::unique_ptr<GpuRegions> regions = {};
};

// Environment of a running kind. `stopped` becomes true on a stop request or at the deadline; loops
// call it at least about every millisecond of work.
struct ProbeRun {
  const v1::ProbeSpec& spec;
  // Exactly one is set, as needs() returned options for.
  host::RcQueuePairs* queue_pairs = nullptr;
  host::UdQueuePairs* datagrams = nullptr;
  const Clock& clock;
  std::function<bool()> stopped;
  std::function<void()> await_stop;     // Sleeps until stopped() is true.
  std::function<void(Duration)> pause;  // Sleeps for that time, or until stopped() is true.
  // Set once the partner is known, after prepare().
  host::Endpoint remote = {};
  host::ConnectionSettings settings = {};
  PortWatch watch = {};  // Of the local port
  RunGpus gpus = {};
  // Set by the kind when the lateness of one end voided all its samples.
  Late late = Late::kNone;
  // Set by the kind when a work request ended with an error.
  host::FailedBy failed_by = host::FailedBy::kNoAnswer;
};

// Queue pairs that a kind needs. The caller sets the port.
using ProbeNeeds = std::variant<host::RcOptions, host::UdOptions>;

// A stateless value. The functions run on the probe's thread. A kind that ends because of stopped()
// returns TIMED_OUT and what it waited for; the caller knows whether that was a stop request.
struct ProbeKind {
  std::string_view name;  // The oneof arm of ProbeSpec: "rc_write_latency"
  std::string_view doc;
  // INVALID_ARGUMENT with the field and its bounds when the spec is out of bounds.
  Status (*check)(const v1::ProbeSpec& spec);
  ProbeNeeds (*needs)(const v1::ProbeSpec& spec);
  // Optional. Called on both ends before the partner gets their endpoint, to post receives for
  // example. FAILED_PRECONDITION when the node lacks a requirement: the probe is refused.
  Status (*prepare)(ProbeRun& run) = nullptr;
  // Optional. Changes the settings of one queue pair, or returns false to leave it unconnected.
  // Both ends must decide the same.
  bool (*tune)(const v1::ProbeSpec& spec, std::uint32_t queue_pair,
               host::ConnectionSettings& settings) = nullptr;
  void (*initiate)(ProbeRun& run, v1::ProbeResult& result);
  void (*respond)(ProbeRun& run, v1::ProbeResult& result);
  // Whether a port can be the responder of several probes of this kind at a time.
  bool shares_responder_port = false;
};

std::span<const ProbeKind* const> AllProbeKinds();  // Generated; see CMakeLists.txt.

// nullptr for an unknown name.
const ProbeKind* FindProbeKind(std::string_view name);

}  // namespace fabric::probe
