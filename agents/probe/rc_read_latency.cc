// RDMA reads over one reliable connection, one at a time, as ib_read_lat does it: from post to
// completion, a whole round trip in which the responder's processor has no part.
#include "agents/probe/rc_latency.h"

namespace fabric::probe {
namespace {

LatencyPlan ReadPlanOf(const v1::ProbeSpec& spec) {
  return LatencyPlan::Of(spec.rc_read_latency());
}

Status CheckRcReadLatency(const v1::ProbeSpec& spec) {
  return CheckLatency(spec, spec.rc_read_latency());
}

ProbeNeeds NeedsRcReadLatency(const v1::ProbeSpec& spec) {
  return host::RcOptions{.memory_bytes = ReadPlanOf(spec).half_bytes()};
}

Status Read(ProbeRun& run, const LatencyPlan& plan, Rounds& rounds) {
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    RETURN_IF_ERROR(rounds.Begin(round));
    RETURN_IF_ERROR(run.queue_pairs->Post(
        {.operation = host::Operation::kRead, .bytes = plan.message_bytes, .id = round}));
    Pace pace = rounds.Posted();
    RETURN_IF_ERROR(AwaitCompletion(run, pace, {"read", round, plan.rounds}));
    rounds.End(pace);
  }
  return {};
}

void InitiateRcReadLatency(ProbeRun& run, v1::ProbeResult& result) {
  const LatencyPlan plan = ReadPlanOf(run.spec);
  Rounds rounds(run, plan, 1);
  rounds.Conclude(Read(run, plan, rounds), result);
}

}  // namespace

extern const ProbeKind rc_read_latency = {
    .name = "rc_read_latency",
    .doc = "The round trip of RDMA reads over one reliable connection.",
    .check = CheckRcReadLatency,
    .needs = NeedsRcReadLatency,
    .initiate = InitiateRcReadLatency,
    .respond = StandBy,
};

}  // namespace fabric::probe
