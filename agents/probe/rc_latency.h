// Latency over reliable connections: parameters and samples of all its kinds.
#pragma once

#include <cstdint>

#include "agents/probe/histogram.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "proto/probe_kinds.h"

namespace fabric::probe {

// Inline sizes that perftest requests for writes and for sends.
inline constexpr std::uint32_t kWriteInlineBytes = 220;
inline constexpr std::uint32_t kSendInlineBytes = 236;

// The memory has two halves, aligned to cache lines: the first holds what the initiator sends or
// reads into, the second holds the other direction.
struct LatencyPlan {
  std::uint32_t message_bytes;
  std::uint32_t warmup;
  std::uint32_t rounds;  // Warm-up included

  template <class Kind>
  static LatencyPlan Of(const Kind& wanted) {
    return OfBytes(wanted, NumberOf(wanted, "message_bytes"));
  }
  template <class Kind>
  static LatencyPlan OfBytes(const Kind& wanted, std::uint32_t message_bytes) {
    const std::uint32_t iterations = NumberOf(wanted, "iterations");
    const std::uint32_t warmup =
        wanted.warmup_iterations() == 0 ? iterations / 10 : wanted.warmup_iterations();
    return {.message_bytes = message_bytes, .warmup = warmup, .rounds = warmup + iterations};
  }
  std::uint32_t half_bytes() const {
    constexpr std::uint32_t kLineBytes = 64;
    return (message_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
};

// Before they are added.
template <class Kind>
Status CheckIterations(const Kind& wanted) {
  constexpr std::uint32_t kLatencyIterationsMax = 1'000'000;
  RETURN_IF_ERROR(CheckBound({"iterations", wanted.iterations(), 0, kLatencyIterationsMax}));
  return CheckBound({"warmup_iterations", wanted.warmup_iterations(), 0, kLatencyIterationsMax});
}

template <class Kind>
Status CheckLatency(const v1::ProbeSpec& spec, const Kind& wanted) {
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckIterations(wanted));
  return CheckBound({"message_bytes", wanted.message_bytes(), 0, 1 << 20});
}

// Samples of one probe: rounds from post to post, as in perftest.
class Rounds {
 public:
  // A sample is a round divided by `hops`: 2 for a ping-pong.
  Rounds(ProbeRun& run, const LatencyPlan& plan, int hops);

  // Starts the round. DEADLINE_EXCEEDED when the probe must end.
  Status Begin(std::uint32_t round);
  // The request is posted; starts polling.
  Pace Posted();
  // The round is complete.
  void End(const Pace& pace);

  void Conclude(const Status& status, v1::ProbeResult& result) const;

 private:
  ProbeRun& run_;
  const LatencyPlan plan_;
  const int hops_;
  std::uint32_t round_ = 0;
  SteadyTime begun_;
  SteadyTime posted_;
  LateSampleFilter late_filter_;
  Histogram samples_;
  std::uint32_t voided_ = 0;
};

}  // namespace fabric::probe
