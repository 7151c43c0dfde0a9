// RDMA atomics over one reliable connection, one at a time, as ib_atomic_lat does it: from post to
// completion, a whole round trip in which the responder's processor has no part. The counter in the
// responder's memory starts at 0 and grows by 1 with each round, so the value of each answer is
// known: an atomic that is carried out twice or not at all is a failure.
#include <cstring>

#include "agents/probe/rc_latency.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kWordBytes = 8;

Status CheckRcAtomicLatency(const v1::ProbeSpec& spec) {
  RETURN_IF_ERROR(CheckCommon(spec));
  return CheckIterations(spec.rc_atomic_latency());
}

ProbeNeeds NeedsRcAtomicLatency(const v1::ProbeSpec&) {
  return host::RcOptions{.memory_bytes = kWordBytes, .atomics = true};
}

Status Count(ProbeRun& run, const LatencyPlan& plan, Rounds& rounds) {
  const bool swap = run.spec.rc_atomic_latency().compare_and_swap();
  const std::string_view what = swap ? "compare-and-swap" : "fetch-and-add";
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    RETURN_IF_ERROR(rounds.Begin(round));
    const std::uint64_t expected = round - 1;
    RETURN_IF_ERROR(run.queue_pairs->Post(
        {.operation = swap ? host::Operation::kCompareSwap : host::Operation::kFetchAdd,
         .bytes = kWordBytes,
         .id = round,
         .operand = swap ? expected + 1 : 1,
         .compare = expected}));
    Pace pace = rounds.Posted();
    RETURN_IF_ERROR(AwaitCompletion(run, pace, {what, round, plan.rounds}));
    rounds.End(pace);
    std::uint64_t seen = 0;
    std::memcpy(&seen, run.queue_pairs->memory().data(), sizeof seen);
    if (seen != expected)
      return {Code::kUnavailable, Format("{} {} of {}: expected the answer {}, saw {}", what, round,
                                         plan.rounds, expected, seen)};
  }
  return {};
}

void InitiateRcAtomicLatency(ProbeRun& run, v1::ProbeResult& result) {
  const LatencyPlan plan = LatencyPlan::OfBytes(run.spec.rc_atomic_latency(), kWordBytes);
  Rounds rounds(run, plan, 1);
  rounds.Conclude(Count(run, plan, rounds), result);
}

}  // namespace

extern const ProbeKind rc_atomic_latency = {
    .name = "rc_atomic_latency",
    .doc = "The round trip of RDMA atomics over one reliable connection.",
    .check = CheckRcAtomicLatency,
    .needs = NeedsRcAtomicLatency,
    .initiate = InitiateRcAtomicLatency,
    .respond = StandBy,
};

}  // namespace fabric::probe
