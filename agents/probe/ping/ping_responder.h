// Ping responder: sends an answer at once and then a report with the delay of the answer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "agents/host/verbs/queue_pairs.h"
#include "agents/probe/ping/ping_message.h"
#include "base/status.h"

namespace fabric::probe {

// Ignores datagrams that it did not send. Not thread-safe.
class PingResponder {
 public:
  // Answers and reports have `message_bytes`, at least kPingBytesMin.
  PingResponder(host::UdQueuePairs& datagrams, std::uint32_t message_bytes)
      : datagrams_(datagrams), bytes_(message_bytes) {}

  // Answers a ping over `path`. `late`: the ping may have arrived long before.
  Status Answer(const PingMessage& ping, std::uint64_t arrived, bool late, std::uint32_t path);
  // A send completed. UNAVAILABLE with the driver's message when it failed.
  Status OnSent(const host::Datagram& datagram, bool late);
  // Whether the next send completion needs prompt handling; reports do not.
  bool awaits_send_completion() const { return answers_unsent_ > 0 || !waiting_.empty(); }

 private:
  struct Open {
    PingMessage message;
    std::uint64_t arrived = 0;
    std::uint32_t path = 0;
  };

  Status Send(const Open& open);
  Status SendWaiting();

  host::UdQueuePairs& datagrams_;
  std::vector<std::byte> bytes_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Open> unsent_;  // Sends not completed, by datagram id
  std::uint32_t answers_unsent_ = 0;      // Answers among them
  std::deque<Open> waiting_;              // The send queue is full.
};

}  // namespace fabric::probe
