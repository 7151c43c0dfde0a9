// The responder's part of pings: an answer at once, and a report of how long that took.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "agents/host/queue_pairs.h"
#include "agents/probe/ping_message.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::probe {

// Where adapters have no clock, a report right behind its answer would be in the way of it: the
// processor that is to see the answer takes the report first. Reports wait there until nothing was
// answered for a while, or many wait. One thread at a time.
class PingAnswers {
 public:
  // Answers and reports have `message_bytes`, at least kPingBytesMin.
  PingAnswers(host::UdQueuePairs& datagrams, std::uint32_t message_bytes)
      : datagrams_(datagrams), bytes_(message_bytes) {}

  // A ping arrived, to be answered over `path`. `late`: it may have been there for long.
  Status Answer(const PingMessage& ping, std::uint64_t arrived, bool late, std::uint32_t path);
  // One of the datagrams of the queue pairs has left: FAILED when the driver said so of one of its
  // own. Others are left alone.
  Status Left(const host::Datagram& datagram, bool late, SteadyTime now);
  // Those whose time has come.
  Status SendReports(SteadyTime now);
  std::optional<SteadyTime> next_report() const;  // Nothing waits: absent

  // Whether the departure of an answer is to be seen that a report will be about.
  bool timing() const { return timing_ > 0; }

 private:
  struct Open {
    PingMessage message;
    std::uint64_t arrived = 0;
    std::uint32_t path = 0;

    bool timed() const { return message.kind == PingMessage::Kind::kAnswer && !message.wake; }
  };

  Status Send(const Open& open);
  Status SendWaiting();

  host::UdQueuePairs& datagrams_;
  std::vector<std::byte> bytes_;
  std::uint64_t next_ = 1;
  std::uint32_t timing_ = 0;
  std::map<std::uint64_t, Open> leaving_;  // By the id of the datagram
  std::deque<Open> waiting_;               // For a place in the send queue
  std::deque<Open> reports_;               // For their time
  SteadyTime reports_at_{};
};

}  // namespace fabric::probe
