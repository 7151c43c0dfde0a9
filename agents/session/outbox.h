// Outbox: bounded queue of messages for one stream.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "fabric/v1/agent.pb.h"
#include "proto/bounds.h"

namespace fabric::agent {

class Outbox {
 public:
  static constexpr std::size_t kBytesMax = Limit("agent_outbox_bytes");

  explicit Outbox(std::size_t max = 256, std::size_t bytes_max = kBytesMax)
      : max_(max), bytes_max_(bytes_max) {}

  // A heartbeat replaces a queued one. A full outbox drops the oldest messages about probes, then
  // the oldest messages, and returns false.
  bool Put(v1::AgentMessage message);
  std::optional<v1::AgentMessage> Take();
  bool HasState() const;  // A snapshot, a change or counters are queued.

 private:
  void Drop(std::deque<v1::AgentMessage>::iterator at);

  const std::size_t max_;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;  // Of messages_, encoded
  std::deque<v1::AgentMessage> messages_;
};

}  // namespace fabric::agent
