// Outstanding pings to one partner: matches departures, answers and reports, and settles each ping
// as answered, lost or void. Pure.
//
//   T1 the ping is posted          T2 it leaves the adapter
//   T3 it arrives at the partner   T4 the answer leaves the partner
//   T5 the answer arrives          T6 it is polled
//
// T1 and T6 are read from the processor's clock, T2 and T5 from the adapter's, T3 and T4 from the
// partner's; only differences of one clock are used. A report after the answer carries T4 - T3.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace fabric::probe {

struct SettledPing {
  enum class Outcome : std::uint8_t { kAnswered, kLost, kVoided };
  std::uint32_t flow = 0;
  SteadyTime posted;
  Outcome outcome = Outcome::kLost;
  // Lost pings only: whether the ping arrived, so that the answer was lost. Absent when unknown.
  std::optional<bool> arrived;
  // Answered pings only. Absent when either process was late or a time is missing.
  std::optional<Duration> network;  // (T5 - T2) - (T4 - T3)
  Duration responder{};             // T4 - T3; valid with `network`, like initiator
  Duration initiator{};             // (T6 - T1) - (T5 - T2)
  bool late = false;                // Answered, but a time was taken late
  bool late_here = false;           // Void pings only: this host was late, not the partner's.
};

class OutstandingPings {
 public:
  struct Options {
    Duration answer_within{};
    // How much longer a ping without an answer waits for the partner's report on it. It is void
    // when its answer arrives in that time: the partner was late, not the network.
    Duration report_within{};
    bool hardware_clock = false;  // T2 and T5 do not depend on the time of polling.
    // Time between two ticks of the adapter's clock.
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
    std::function<void(const SettledPing&)> settled;
  };
  explicit OutstandingPings(Options options) : options_(std::move(options)) {}

  // Sequence number of the ping to post at `at` (T1). Numbers are consecutive.
  std::uint32_t Post(std::uint32_t flow, SteadyTime at);
  // Events. `late`: the event may be older than its time of polling. Ignores settled pings.
  void Departed(std::uint32_t sequence, std::uint64_t ticks, bool late);                 // T2
  void Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at, bool late);  // T5, T6
  void Reported(std::uint32_t sequence, Duration delay, bool late);                      // T4 - T3
  // The partner's record of the pings before this one: PingMessage::seen.
  void Seen(std::uint32_t sequence, std::uint64_t seen);
  // The thread polled too late: unanswered pings become void instead of lost.
  void MarkUnreliable();
  // Settles pings older than answer_within.
  void Expire(SteadyTime now);

  // Pings not settled, and those of them within answer_within.
  std::uint32_t awaited() const { return awaited_; }
  std::uint32_t under_way() const { return awaited_ - expired_; }

 private:
  struct Ping {
    std::uint32_t flow;
    SteadyTime posted;
    SteadyTime seen;
    std::uint64_t left = 0;
    std::uint64_t came = 0;
    Duration delay{};
    bool departed = false, answered = false, reported = false;
    bool late = false;
    bool unreliable = false;
    bool expired = false;  // Without an answer; waits for the partner's report.
    bool left_late = false;
    bool settled = false;
    std::optional<bool> arrived = {};
  };

  Ping* Find(std::uint32_t sequence);  // nullptr for a settled ping
  void Settle(Ping& ping);
  void End(Ping& ping, SettledPing settled);
  void EndLost(Ping& ping);
  void EndVoid(Ping& ping, bool late_here);
  void Drop();  // Settled pings at the front

  const Options options_;
  std::deque<Ping> pings_;  // The front has sequence number first_.
  std::uint32_t first_ = 1;
  std::uint32_t awaited_ = 0;
  std::uint32_t expired_ = 0;
};

// Received pings of one initiator: the source of PingMessage::seen.
class ReceivedPings {
 public:
  // Records a ping. Returns `seen` of its answer.
  std::uint64_t Take(std::uint32_t sequence);

 private:
  static constexpr std::uint32_t kKnownMax = 62;

  std::uint32_t newest_ = 0;
  std::uint64_t before_ = 0;  // Bit n: ping newest_ - 1 - n arrived.
  std::uint32_t known_ = 0;   // Number of valid bits
  bool any_ = false;
};

}  // namespace fabric::probe
