// Inbox: events from other threads for the agent, in order of arrival.
#pragma once

#include <condition_variable>
#include <deque>
#include <optional>
#include <stop_token>
#include <variant>

#include "agents/counters/feed.h"
#include "agents/session/link.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

struct Connected {};
struct Disconnected {
  Status why;
};
struct Idle {};  // The link can send the next snapshot or change.
using Event = std::variant<v1::NodeSnapshot, counters::Table, counters::Sample, Connected,
                           Disconnected, Idle, v1::ControllerMessage>;

// Thread-safe. Keeps the newest snapshot, table and sample and returns them first, in this order.
// Drops messages of the controller beyond the bounds agent_inbox_messages and agent_inbox_memory,
// each of which costs one probe its outcome.
class Inbox final : public LinkEvents {
 public:
  void OnSnapshot(v1::NodeSnapshot snapshot);
  void OnCounterTable(counters::Table table);
  void OnCounterSample(counters::Sample sample);
  void OnConnected() override;
  void OnMessage(v1::ControllerMessage message) override;
  void OnIdle() override;
  void OnDisconnected(const Status& why) override;

  // The next event; empty after `patience` and when stopped.
  std::optional<Event> Next(const std::stop_token& stop, Duration patience);

 private:
  void Put(Event event);

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  std::size_t memory_ GUARDED_BY(mutex_) = 0;  // Of the messages in events_
  std::optional<v1::NodeSnapshot> snapshot_ GUARDED_BY(mutex_);
  std::optional<counters::Table> table_ GUARDED_BY(mutex_);
  std::optional<counters::Sample> sample_ GUARDED_BY(mutex_);
};

}  // namespace fabric::agent
