// Events of the machine: what wakes inspectors before their time has come.
//
// Where they come from: rtnetlink (links, addresses, DCB), RDMA netlink where the kernel has it,
// kernel uevents, and the asynchronous events of verbs (verbs_events.h). Events are hints: they may
// be lost and may come without need. Whoever acts on them also looks at everything now and then.
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
  // Waits until something has happened, `until` has come or `stop` is requested, and says what has
  // happened since the last call; the empty set when nothing has. Everything when the kernel could
  // not tell all of it. One thread at a time.
  virtual EventSet Wait(const std::stop_token& stop, SteadyTime until) = 0;

  // What went wrong with sources since the last call, with the source's name in front. A source
  // that failed is left out from then on.
  virtual std::vector<Status> TakeProblems() = 0;
};

// A datagram socket that events come from.
struct EventSource {
  std::string name;  // "rtnetlink", for messages
  Fd fd;             // Does not block
  std::function<Result<EventSet>(Bytes datagram)> parse;
};

std::unique_ptr<Events> OpenEvents();  // Of this machine. Never null: what fails is a problem.
std::unique_ptr<Events> OpenEvents(std::vector<Result<EventSource>> sources);  // None: only waits.

}  // namespace fabric::host
