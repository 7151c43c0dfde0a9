// RDMA write ping-pong over one reliable connection, as ib_write_lat does it: each side polls the
// last byte of its memory, so no receive completion is involved, and a sample is half a round trip.
#include <atomic>

#include "agents/probe/rc_latency.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

LatencyPlan WritePlanOf(const v1::ProbeSpec& spec) {
  return LatencyPlan::Of(spec.rc_write_latency());
}

Status CheckRcWriteLatency(const v1::ProbeSpec& spec) {
  return CheckLatency(spec, spec.rc_write_latency());
}

ProbeNeeds NeedsRcWriteLatency(const v1::ProbeSpec& spec) {
  return host::RcOptions{.memory_bytes = 2 * WritePlanOf(spec).half_bytes(),
                         .inline_bytes = kWriteInlineBytes};
}

// The byte that says which round it is; two rounds in a row never have the same.
std::byte Mark(std::uint32_t round) {
  return static_cast<std::byte>(round & 0xff);
}

Status WriteMessage(ProbeRun& run, const LatencyPlan& plan, std::uint32_t offset,
                    std::uint32_t round) {
  run.queue_pairs->memory()[offset + plan.message_bytes - 1] = Mark(round);
  return run.queue_pairs->Post({.operation = host::Operation::kWrite,
                                .offset = offset,
                                .bytes = plan.message_bytes,
                                .id = round});
}

Status AwaitMark(ProbeRun& run, Pace& pace, const LatencyPlan& plan, std::uint32_t offset,
                 std::uint32_t round) {
  const std::atomic_ref<std::byte> last(run.queue_pairs->memory()[offset + plan.message_bytes - 1]);
  while (last.load(std::memory_order_acquire) != Mark(round))
    if (!pace.Next())
      return {Code::kDeadlineExceeded,
              Format("round {} of {}: no message from the partner", round, plan.rounds)};
  return {};
}

Status Ping(ProbeRun& run, const LatencyPlan& plan, Rounds& rounds) {
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    RETURN_IF_ERROR(rounds.Begin(round));
    RETURN_IF_ERROR(WriteMessage(run, plan, 0, round));
    Pace pace = rounds.Posted();
    RETURN_IF_ERROR(AwaitCompletion(run, pace, {"write", round, plan.rounds}));
    RETURN_IF_ERROR(AwaitMark(run, pace, plan, plan.half_bytes(), round));
    rounds.End(pace);
  }
  return {};
}

Status Pong(ProbeRun& run, const LatencyPlan& plan) {
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    Pace pace(run, run.clock.Now().steady);
    RETURN_IF_ERROR(AwaitMark(run, pace, plan, 0, round));
    RETURN_IF_ERROR(WriteMessage(run, plan, plan.half_bytes(), round));
    // After the last answer the initiator may be gone before it has acknowledged it.
    if (round == plan.rounds) break;
    RETURN_IF_ERROR(AwaitCompletion(run, pace, {"answer", round, plan.rounds}));
  }
  return {};
}

void InitiateRcWriteLatency(ProbeRun& run, v1::ProbeResult& result) {
  const LatencyPlan plan = WritePlanOf(run.spec);
  Rounds rounds(run, plan, 2);
  rounds.Conclude(Ping(run, plan, rounds), result);
}

void RespondRcWriteLatency(ProbeRun& run, v1::ProbeResult& result) {
  Conclude(Pong(run, WritePlanOf(run.spec)), result);
  // The queue pair stays until the controller says that the initiator has what it needs.
  if (result.status() == v1::PROBE_STATUS_OK) run.await_stop();
}

}  // namespace

extern const ProbeKind rc_write_latency = {
    .name = "rc_write_latency",
    .doc = "Half of the round trip of RDMA writes over one reliable connection.",
    .check = CheckRcWriteLatency,
    .needs = NeedsRcWriteLatency,
    .initiate = InitiateRcWriteLatency,
    .respond = RespondRcWriteLatency,
};

}  // namespace fabric::probe
