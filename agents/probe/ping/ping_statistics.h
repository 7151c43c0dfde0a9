// Ping statistics: outcomes and latencies of the pings to one partner, per flow. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "agents/probe/histogram.h"
#include "agents/probe/ping/outstanding_pings.h"
#include "agents/probe/stall_monitor.h"
#include "base/clock.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

class PingStatistics {
 public:
  struct Options {
    std::uint32_t flows = 1;
    Duration answer_within{};
    Duration report_within{};     // See OutstandingPings.
    bool hardware_clock = false;  // T2 and T5 do not depend on the time of polling.
    // Time between two ticks of the adapter's clock.
    std::function<Duration(std::uint64_t from, std::uint64_t to)> elapsed;
  };
  explicit PingStatistics(Options options);
  PingStatistics(const PingStatistics&) = delete;  // The table refers to it.
  PingStatistics& operator=(const PingStatistics&) = delete;

  // See OutstandingPings.
  std::uint32_t Post(std::uint32_t flow, SteadyTime at);
  void Departed(std::uint32_t sequence, std::uint64_t ticks, bool late) {
    table_.Departed(sequence, ticks, late);
  }
  void Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at, bool late) {
    table_.Answered(sequence, ticks, at, late);
  }
  void Reported(std::uint32_t sequence, Duration delay, bool late) {
    table_.Reported(sequence, delay, late);
  }
  void Seen(std::uint32_t sequence, std::uint64_t seen) { table_.Seen(sequence, seen); }
  void MarkUnreliable() { table_.MarkUnreliable(); }
  void Expire(SteadyTime now) { table_.Expire(now); }

  std::uint32_t awaited() const { return table_.awaited(); }
  std::uint32_t under_way() const { return table_.under_way(); }
  std::uint32_t answered() const { return answered_; }
  // The end that made most of the void pings void.
  Late late() const;
  // Without queue_pair_per_flow and flow labels. Flows are in the order of their numbers.
  v1::PingSummary Summary() const;

 private:
  struct Flow {
    std::uint32_t sent = 0;
    std::uint32_t voided = 0;
    std::uint32_t lost = 0;
    std::uint32_t lost_out = 0;  // Lost before arrival; unknown for the rest of `lost`.
    std::uint32_t lost_in = 0;
    Histogram network;
  };

  void Settle(const SettledPing& ping);

  const bool hardware_clock_;
  OutstandingPings table_;
  std::vector<Flow> flows_;
  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t lost_ = 0;
  std::uint32_t voided_ = 0;
  std::uint32_t voided_here_ = 0;
  std::uint32_t late_ = 0;
  Histogram network_, responder_, initiator_;
};

}  // namespace fabric::probe
