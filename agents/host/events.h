// Event sources of the machine, which trigger inspections between periodic ones.
//
// Sources: rtnetlink (links, addresses, DCB), RDMA netlink where the kernel has it, kernel uevents,
// and asynchronous events of verbs (verbs_events.h). Events are hints: they may be lost or
// spurious. Callers also poll from time to time.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agents/host/event_set.h"
#include "agents/host/netlink/netlink_reader.h"
#include "agents/host/sysfs.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

class Events {
 public:
  virtual ~Events() = default;
  // Waits for an event, until `until`, or until `stop`. Returns the events since the last call, or
  // all kinds when the kernel lost some. One thread at a time.
  virtual EventSet Wait(const std::stop_token& stop, SteadyTime until) = 0;

  // Failures of sources since the last call, with the source's name. Failed sources are
  // not used again.
  virtual std::vector<Status> TakeProblems() = 0;
};

// A datagram socket with events.
struct EventSource {
  std::string name;  // "rtnetlink", for messages
  Fd fd;             // Does not block
  std::function<Result<EventSet>(Bytes datagram)> parse;
};

std::unique_ptr<Events> OpenEvents();  // Of this machine. Never null: failures are problems.
std::unique_ptr<Events> OpenEvents(
    std::vector<Result<EventSource>> sources);  // Without sources: only waits.

}  // namespace fabric::host
