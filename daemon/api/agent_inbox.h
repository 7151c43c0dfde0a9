// Inbox of one agent's session, and its budget. Not thread-safe: its owner locks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "fabric/v1/agent.pb.h"
#include "proto/bounds.h"

namespace fabric::api {

// Token bucket: `rate` per second, after a burst of ten times as much.
class Budget {
 public:
  explicit Budget(const Bound& rate) : rate_(rate), left_(10.0 * static_cast<double>(rate.limit)) {}

  void Spend(std::uint64_t amount, SteadyTime now);
  // Time until something can be spent again; zero if it can be now.
  Duration Wait(SteadyTime now);
  // The rate since the budget was last full.
  Excess ToExcess(SteadyTime now) const;

 private:
  void Refill(SteadyTime now);

  const Bound& rate_;
  double left_;
  SteadyTime filled_at_;
  SteadyTime full_at_;
  std::uint64_t spent_ = 0;  // Since full_at_
};

class AgentInbox {
 public:
  // One of the three.
  struct Item {
    std::optional<v1::AgentMessage> message = {};
    std::optional<Excess> excess = {};
    std::optional<std::string> gone = {};  // The session has ended, for this reason.
    std::size_t bytes = 0;                 // Of the encoded message
    std::size_t memory = 0;                // Of the decoded message

    bool IsUrgent() const { return !message || message->has_hello() || message->has_heartbeat(); }
  };

  // Adds an item, and one about a budget that it exceeds.
  void Put(Item item, SteadyTime now);
  Item Take();  // Must not be empty
  bool empty() const { return items_.empty(); }
  std::size_t memory() const { return memory_; }
  const Item& front() const { return items_.front(); }

  // Time until the next message can be read; zero: now; nullopt: when items have been taken.
  std::optional<Duration> ReadIn(SteadyTime now);

 private:
  void Spend(Budget& budget, std::uint64_t amount, SteadyTime now);

  std::deque<Item> items_;
  std::size_t memory_ = 0;
  Budget messages_{BoundOf("agent_messages_per_second")};
  Budget traffic_{BoundOf("agent_bytes_per_second")};
  Budget changes_{BoundOf("agent_changes_per_second")};
  std::optional<SteadyTime> reported_at_;  // Last excess of a budget
};

}  // namespace fabric::api
