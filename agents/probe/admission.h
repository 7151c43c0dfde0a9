// What an agent decides about its probes before, beside and after they run. Pure: the threads of
// the runner ask it, and so does a simulation that has none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "agents/probe/attendance.h"
#include "agents/probe/port_choice.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::probe {

// A probe that was taken on.
struct Ongoing {
  v1::ProbeAssignment assignment;
  SteadyTime deadline;
  std::optional<v1::ProbeEndpoint> remote;  // Once the controller has sent it
  std::string stop_reason;
  bool finished = false;  // It holds nothing any more: its port is free.
};

// Of one node: its name is not looked at.
bool SamePort(const v1::ProbePort& a, const v1::ProbePort& b);

// When a probe that is assigned now has to be over.
SteadyTime DeadlineOf(const v1::ProbeAssignment& assignment, SteadyTime now);

// How many may run at once; more are refused.
struct Room {
  std::uint32_t probes_max = 8;
  // Ends that share their port with others of their kind; they do not count among the above.
  std::uint32_t sharing_max = 128;
};

// Whether a probe may begin beside those that are running, of which none is finished. The failure
// says what is wrong with it, or who has its port. Both ends of one probe may be on one port, and
// so may responders of a kind that shares it.
Status Admit(const v1::ProbeAssignment& assignment, std::span<const Ongoing* const> running,
             const Room& room);

// Whether a message about `probe_id` that names `role` is for this end.
bool IsFor(const Ongoing& probe, std::uint64_t probe_id, v1::ProbeRole role);

// The address that the probe uses, or why its port cannot be used. `device`: as inspected, if there
// is such a device.
Result<PortAddress> AddressFor(const v1::ProbeAssignment& assignment,
                               const std::optional<v1::RdmaDevice>& device);

// What an end knows of the hosts' lateness.
struct Lateness {
  Duration away{};  // Its own thread did not run for so long of the time that it had.
  Duration had{};
  Late late = Late::kNobody;  // As the kind had it
};

// The one place where it is told who was late: a probe that was not done in time names an end whose
// host did not run for most of it, or that made all void, and then says nothing of the fabric. A
// responder names itself also when it was through in the end: the initiator may have given up
// before. A time-out for which neither end is named is held against the way between.
void NameLate(const v1::ProbeAssignment& assignment, const Lateness& how, v1::ProbeResult& result);

// What is said of a probe that was not taken on.
v1::ProbeOutcome Refusal(const v1::ProbeAssignment& assignment, const Status& why);
// The last word on a probe. One that was waiting when it was told to stop was cancelled.
v1::ProbeOutcome LastWord(const Ongoing& probe, v1::ProbeResult result, bool stopped);

}  // namespace fabric::probe
