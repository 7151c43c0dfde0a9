// Probe admission and outcome: the agent's decisions before and after a probe runs. Pure; used by
// the runner's threads and by the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/probe/port_choice.h"
#include "agents/probe/stall_monitor.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/bounds.h"

namespace fabric::probe {

// An admitted probe.
struct RunningProbe {
  v1::ProbeAssignment assignment;
  SteadyTime deadline;
  std::optional<v1::ProbeEndpoint> remote;  // Absent until the controller sends it
  std::string stop_reason;
  bool finished = false;  // Its port is free.
};

// Compares device and port; ignores the node.
bool SamePort(const v1::ProbePort& a, const v1::ProbePort& b);

// Deadline of a probe that is assigned at `now`.
SteadyTime DeadlineOf(const v1::ProbeAssignment& assignment, SteadyTime now);

// Limits of concurrent probes on one node; more are refused.
struct ProbeLimits {
  std::uint32_t probes_max = 8;
  // Ends that share their port with others of their kind, not counted in probes_max.
  std::uint32_t sharing_max = 128;
  // Bytes of host memory that all probes together register.
  std::uint64_t memory_max = Limit("probe_memory_bytes");
};

// What the operator of the node permits, and the controller cannot override.
struct ProbePolicy {
  std::set<std::string, std::less<>> kinds = {};  // Empty: all
  bool busy_devices = true;                       // Also on devices that other processes have open
  // Names of these processes, by the last inspection. Required without `busy_devices`.
  std::function<std::vector<std::string>(const std::string& device)> users = {};

  bool Permits(std::string_view kind) const { return kinds.empty() || kinds.contains(kind); }
};
// PERMISSION_DENIED with the setting that forbids the probe.
Status CheckPolicy(const v1::ProbeAssignment& assignment, const ProbePolicy& policy);

// Whether a probe can start while `running`, none of which is finished, are active. Both ends of
// one probe can use the same port, as can responders of a kind that shares its port. Errors:
// UNIMPLEMENTED for an unknown kind, INVALID_ARGUMENT for a bad spec, RESOURCE_EXHAUSTED,
// UNAVAILABLE for a busy port.
Status Admit(const v1::ProbeAssignment& assignment, std::span<const RunningProbe* const> running,
             const ProbeLimits& limits);

// Budget of probes in a process with this memory limit; empty: without one.
std::uint64_t ProbeMemoryMax(std::optional<std::uint64_t> limit);

// Whether a message about `probe_id` with `role` is for this end.
bool IsFor(const RunningProbe& probe, std::uint64_t probe_id, v1::ProbeRole role);

// The address that the probe uses, or the reason why it cannot use its port. `device`: as
// inspected, empty for an unknown device.
Result<PortAddress> AddressFor(const v1::ProbeAssignment& assignment,
                               const std::optional<v1::RdmaDevice>& device);

// Evidence that a host was too slow.
struct Lateness {
  Duration stalled{};       // Time during which the thread of this end did not run
  Duration elapsed{};       // Total time of the probe
  Late late = Late::kNone;  // Verdict of the probe kind
};

// Sets blamed_node of a probe that timed out to the end whose host was stalled for more than half
// of the probe, or whose lateness voided all samples: such a result is not evidence about the
// fabric. A responder also names itself after success, because the initiator may have timed out. A
// time-out without blamed_node counts against the path.
void NameLateEnd(const v1::ProbeAssignment& assignment, const Lateness& how,
                 v1::ProbeResult& result);

// Sets blamed_node of a failed probe to the end whose program or adapter failed. Such a result is
// not evidence about the path.
void NameFailedEnd(const v1::ProbeAssignment& assignment, host::FailedBy by,
                   v1::ProbeResult& result);

// Outcome of a probe that was not admitted.
v1::ProbeOutcome Refusal(const v1::ProbeAssignment& assignment, const Status& why);
// Outcome of an admitted probe. A time-out after a stop request becomes CANCELLED.
v1::ProbeOutcome FinalOutcome(const RunningProbe& probe, v1::ProbeResult result, bool stopped);

}  // namespace fabric::probe
