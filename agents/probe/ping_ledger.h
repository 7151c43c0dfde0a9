// What is known of pings that were sent, and what follows from it. Pure: times come in.
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
#include <vector>

#include "agents/probe/histogram.h"
#include "base/clock.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

class PingLedger {
 public:
  struct Options {
    std::uint32_t flows = 1;
    Duration answer_within{};
    bool hardware_clock = false;  // T2 and T5 do not depend on when somebody looks.
    // Between two ticks of the adapter's clock.
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
  };
  explicit PingLedger(Options options) : options_(std::move(options)), flows_(options_.flows) {}

  // The number of the ping that is about to be posted at `at` (T1). They rise by one.
  std::uint32_t Post(std::uint32_t flow, SteadyTime at);
  // What came, as it is seen. `late`: it may have been there for long. Of pings that are not
  // awaited any more nothing is taken.
  void Departed(std::uint32_t sequence, std::uint64_t ticks, bool late);                 // T2
  void Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at, bool late);  // T5, T6
  void Reported(std::uint32_t sequence, Duration delay, bool late);                      // T4 - T3
  // Nobody looked for so long that nothing can be said of pings that stay without an answer.
  void Excuse();
  // Those that wait longer than answer_within are lost, or void when they were excused.
  void Expire(SteadyTime now);

  std::uint32_t awaited() const { return awaited_; }
  std::uint32_t answered() const { return answered_; }
  // Without queue_pair_per_flow and the labels of flows, which are in the order of their numbers.
  v1::PingSummary Summary() const;

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
    bool over = false;
  };
  struct Flow {
    std::uint32_t sent = 0;
    std::uint32_t lost = 0;
    Histogram network;
  };

  Ping* Find(std::uint32_t sequence);  // nullptr when it is over
  void Settle(Ping& ping);
  void End(Ping& ping);

  const Options options_;
  std::vector<Flow> flows_;
  std::deque<Ping> pings_;  // The first one is number first_.
  std::uint32_t first_ = 1;
  std::uint32_t awaited_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t lost_ = 0;
  std::uint32_t voided_ = 0;
  std::uint32_t late_ = 0;
  Histogram network_, responder_, initiator_;
};

}  // namespace fabric::probe
