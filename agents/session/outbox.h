// Outbox: bounded queue of messages for one stream.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "fabric/v1/agent.pb.h"

namespace fabric::agent {

class Outbox {
 public:
  explicit Outbox(std::size_t max = 256) : max_(max) {}

  // A heartbeat replaces a queued one. A full outbox drops the oldest message about a probe, or the
  // oldest message, and returns false.
  bool Put(v1::AgentMessage message);
  std::optional<v1::AgentMessage> Take();
  bool HasState() const;  // A snapshot, a change or counters are queued.

 private:
  const std::size_t max_;
  std::deque<v1::AgentMessage> messages_;
};

}  // namespace fabric::agent
