// What the latency kinds over reliable connections share: their numbers and their samples.
#pragma once

#include <cstdint>

#include "agents/probe/histogram.h"
#include "agents/probe/numbers.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"

namespace fabric::probe {

// As perftest asks for: of writes and of sends.
inline constexpr std::uint32_t kWriteInlineBytes = 220;
inline constexpr std::uint32_t kSendInlineBytes = 236;

// The memory has two halves, each beginning on a cache line: in the first one is what the initiator
// sends, or reads into; in the second one the other direction.
struct LatencyPlan {
  std::uint32_t message_bytes;
  std::uint32_t warmup;
  std::uint32_t rounds;  // Warm-up included

  template <class Kind>
  static LatencyPlan Of(const Kind& wanted) {
    const std::uint32_t iterations = wanted.iterations() == 0 ? 1000 : wanted.iterations();
    const std::uint32_t warmup =
        wanted.warmup_iterations() == 0 ? iterations / 10 : wanted.warmup_iterations();
    return {.message_bytes = wanted.message_bytes() == 0 ? 8 : wanted.message_bytes(),
            .warmup = warmup,
            .rounds = warmup + iterations};
  }
  std::uint32_t half_bytes() const {
    constexpr std::uint32_t kLineBytes = 64;
    return (message_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
};

template <class Kind>
Status CheckLatency(const v1::ProbeSpec& spec, const Kind& wanted) {
  constexpr std::uint32_t kIterationsMax = 1'000'000;
  RETURN_IF_ERROR(CheckCommon(spec));
  // Before the sum of them is made.
  RETURN_IF_ERROR(CheckBound({"iterations", wanted.iterations(), 0, kIterationsMax}));
  RETURN_IF_ERROR(CheckBound({"warmup_iterations", wanted.warmup_iterations(), 0, kIterationsMax}));
  return CheckBound({"message_bytes", wanted.message_bytes(), 0, 1 << 20});
}

// The samples of one probe: rounds from post to post, as perftest takes them.
class Rounds {
 public:
  // `hops`: in how many parts a round is divided for a sample, 2 of a ping-pong.
  Rounds(ProbeRun& run, const LatencyPlan& plan, int hops);

  // From here on the round's time runs. DEADLINE_EXCEEDED when the probe has to end.
  Status Begin(std::uint32_t round);
  // The request is posted; looking begins.
  Pace Posted();
  // What the round was for has been seen.
  void End(const Pace& pace);

  void Conclude(const Status& status, v1::ProbeResult& result) const;

 private:
  ProbeRun& run_;
  const LatencyPlan plan_;
  const int hops_;
  std::uint32_t round_ = 0;
  SteadyTime begun_;
  SteadyTime posted_;
  Punctuality punctuality_;
  Histogram samples_;
  std::uint32_t voided_ = 0;
};

}  // namespace fabric::probe
