// The responder's part of pings: an answer at once, and a report of how long that took.
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

// Datagrams of the queue pairs that are not its own concern are left alone. One thread at a time.
class PingAnswers {
 public:
  // Answers and reports have `message_bytes`, at least kPingBytesMin.
  PingAnswers(host::UdQueuePairs& datagrams, std::uint32_t message_bytes)
      : datagrams_(datagrams), bytes_(message_bytes) {}

  // A ping arrived, to be answered over `path`. `late`: it may have been there for long.
  Status Answer(const PingMessage& ping, std::uint64_t arrived, bool late, std::uint32_t path);
  // One of the datagrams that it had sent has left: FAILED when the driver said so.
  Status Left(const host::Datagram& datagram, bool late);
  // Whether something is to be done as soon as something leaves; of a report nothing is.
  bool awaits_leaving() const { return answers_leaving_ > 0 || !waiting_.empty(); }

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
  std::map<std::uint64_t, Open> leaving_;  // By the id of the datagram
  std::uint32_t answers_leaving_ = 0;      // Among them
  std::deque<Open> waiting_;               // For a place in the send queue
};

}  // namespace fabric::probe
