// Loops of the agent's threads: inspection, counters, and the session with the controller.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "agents/counters/feed.h"
#include "agents/counters/sampling.h"
#include "agents/host/events.h"
#include "agents/session/agent.h"
#include "agents/session/inbox.h"
#include "agents/session/link.h"
#include "agents/session/shared_state.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// Inspects at the start, after events, and every `check_interval` until stopped. Logs problems of
// the event sources.
struct InspectionLoop {
  // Empty when stopped in the meantime.
  std::function<std::optional<v1::NodeSnapshot>(host::EventSet, const std::stop_token&)> inspect;
  std::function<void(v1::NodeSnapshot)> deliver;
  host::Events& events;
  Duration check_interval;
  const Clock& clock;
  SharedState& shared;

  void Run(const std::stop_token& stop);
};

// Reads the counters of the last inspection every `interval` until stopped. Logs blocked readings.
struct CounterLoop {
  counters::Sampling& sampling;
  std::function<void(const counters::Table&)> deliver_table;
  std::function<void(const counters::Sample&)> deliver_sample;
  Duration interval;
  const Clock& clock;
  SharedState& shared;

  void Run(const std::stop_token& stop);
};

// Passes events of the inbox and the time to the agent until stopped. Logs connects and
// disconnects, and a reason that repeats only once.
struct AgentLoop {
  Agent& agent;
  Inbox& inbox;
  Link& link;
  const Clock& clock;
  SharedState& shared;
  // Files of the link, reloaded when they change; null: no TLS
  tls::TlsFiles* tls = nullptr;
  // Why TLS to the controller fails; OK: TLS is not the reason. Can wait some seconds.
  std::function<Status()> explain = {};

  void Run(const std::stop_token& stop);
};

}  // namespace fabric::agent
