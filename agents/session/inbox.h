// What other threads have to tell the agent, in the order in which it came.
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
struct Idle {};  // The link can take the next snapshot or change.
using Event = std::variant<v1::NodeSnapshot, counters::Table, counters::Sample, Connected,
                           Disconnected, Idle, v1::ControllerMessage>;

// Safe to use from any thread. Of snapshots, tables and samples the newest is kept, and they come
// in this order. Of the controller's messages 1024
// may wait; more are dropped, each of which costs one probe its outcome.
class Inbox final : public LinkEvents {
 public:
  void OnSnapshot(v1::NodeSnapshot snapshot);
  void OnCounterTable(counters::Table table);
  void OnCounterSample(counters::Sample sample);
  void OnConnected() override;
  void OnMessage(v1::ControllerMessage message) override;
  void OnIdle() override;
  void OnDisconnected(const Status& why) override;

  // The next event; empty when none came within `patience`, or when asked to stop.
  std::optional<Event> Next(const std::stop_token& stop, Duration patience);

 private:
  void Put(Event event);

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
  std::optional<v1::NodeSnapshot> snapshot_ GUARDED_BY(mutex_);
  std::optional<counters::Table> table_ GUARDED_BY(mutex_);
  std::optional<counters::Sample> sample_ GUARDED_BY(mutex_);
};

}  // namespace fabric::agent
