// Pings that were sent to one partner and are not settled yet: what is known of each, and what
// became of it. Pure: times come in.
//
//   T1 the ping is posted          T2 it leaves the adapter
//   T3 it arrives at the partner   T4 the answer leaves the partner
//   T5 the answer arrives          T6 it is seen
//
// T1 and T6 are of the processor's clock, T2 and T5 of the adapter's, T3 and T4 of the partner's;
// only differences of one clock are used. T4 - T3 comes with a report after the answer.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace fabric::probe {

// What became of one ping.
struct SettledPing {
  enum class Fate : std::uint8_t { kAnswered, kLost, kVoided };
  std::uint32_t flow = 0;
  SteadyTime posted;
  Fate fate = Fate::kLost;
  // Of a lost one, where the partner's word tells: it got the ping, so that the answer was lost.
  std::optional<bool> arrived;
  // Of an answered one. Absent: the own process or the partner's was late, or a time is missing.
  std::optional<Duration> network;  // (T5 - T2) - (T4 - T3)
  Duration responder{};             // T4 - T3; these two with `network` alone
  Duration initiator{};             // (T6 - T1) - (T5 - T2)
  bool late = false;                // Answered, timed, and thrown away for being late
  bool late_here = false;           // Of a void one: this host was late, not the partner's.
};

class PingTable {
 public:
  struct Options {
    Duration answer_within{};
    // A lost ping waits so much longer for the partner's word on it. It is void when that is its
    // answer after all: the partner was late, not the network.
    Duration word_within{};
    bool hardware_clock = false;  // T2 and T5 do not depend on when somebody looks.
    // Between two ticks of the adapter's clock.
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
    std::function<void(const SettledPing&)> settled;
  };
  explicit PingTable(Options options) : options_(std::move(options)) {}

  // The number of the ping that is about to be posted at `at` (T1). They rise by one.
  std::uint32_t Post(std::uint32_t flow, SteadyTime at);
  // What came, as it is seen. `late`: it may have been there for long. Of pings that are not
  // awaited any more nothing is taken.
  void Departed(std::uint32_t sequence, std::uint64_t ticks, bool late);                 // T2
  void Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at, bool late);  // T5, T6
  void Reported(std::uint32_t sequence, Duration delay, bool late);                      // T4 - T3
  // What the partner says of the pings before this one: PingMessage::seen.
  void Seen(std::uint32_t sequence, std::uint64_t seen);
  // Nobody looked for so long that nothing can be said of pings that stay without an answer.
  void Excuse();
  // Those that wait longer than answer_within are lost, or void when they were excused.
  void Expire(SteadyTime now);

  // Whose fate is open, and those of them whose time for an answer has not passed.
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
    bool excused = false;
    bool expired = false;  // Without an answer; waits for the partner's word.
    bool left_late = false;
    bool over = false;
    std::optional<bool> arrived = {};
  };

  Ping* Find(std::uint32_t sequence);  // nullptr when it is over
  void Settle(Ping& ping);
  void End(Ping& ping, SettledPing settled);
  void EndLost(Ping& ping);
  void EndVoid(Ping& ping, bool late_here);
  void Drop();  // Those at the front that are over

  const Options options_;
  std::deque<Ping> pings_;  // The first one is number first_.
  std::uint32_t first_ = 1;
  std::uint32_t awaited_ = 0;
  std::uint32_t expired_ = 0;
};

// The partner's part of `seen`: which numbers of one initiator came.
class PingsSeen {
 public:
  // A ping came: what its answer is to say.
  std::uint64_t Take(std::uint32_t sequence);

 private:
  static constexpr std::uint32_t kKnownMax = 62;

  std::uint32_t newest_ = 0;
  std::uint64_t before_ = 0;  // Bit n: number newest_ - 1 - n came.
  std::uint32_t known_ = 0;   // So many bits say something.
  bool any_ = false;
};

}  // namespace fabric::probe
