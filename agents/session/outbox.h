// Messages that wait to be sent on one stream. Bounded; says what happens when it is full.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "fabric/v1/agent.pb.h"

namespace fabric::agent {

class Outbox {
 public:
  explicit Outbox(std::size_t max = 256) : max_(max) {}

  // A heartbeat replaces one that waits. When the box is full the oldest message about a probe
  // goes, else the oldest; false when one went.
  bool Put(v1::AgentMessage message);
  std::optional<v1::AgentMessage> Take();
  bool HasState() const;  // A snapshot, a change or counters wait.

 private:
  const std::size_t max_;
  std::deque<v1::AgentMessage> messages_;
};

}  // namespace fabric::agent
