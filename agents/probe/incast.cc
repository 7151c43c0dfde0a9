// One sender's part of a burst of many to one port: RDMA writes for a time. Both ends read the
// counters of their port before the partner hears of them, and after the burst has settled. What
// they say together the controller judges.
#include <chrono>

#include "agents/probe/burst.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "proto/probe_kinds.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kIncastMessageBytesMax = 8 << 20;
constexpr std::uint32_t kDurationMaxMs = 2000;
constexpr std::uint32_t kIncastQueueDepthMax = 1024;
// Drivers and firmware that gather counters by themselves do so once a second (bnxt_en:
// BNXT_DEF_STATS_COAL_TICKS, ice: the service task).
constexpr Duration kSettle = std::chrono::milliseconds(1500);

struct IncastPlan {
  std::uint32_t message_bytes;
  std::uint32_t duration_ms;
  std::uint32_t depth;
};

IncastPlan IncastPlanOf(const v1::ProbeSpec& spec) {
  const v1::Incast& wanted = spec.incast();
  return {.message_bytes = NumberOf(wanted, "message_bytes"),
          .duration_ms = NumberOf(wanted, "duration_ms"),
          .depth = NumberOf(wanted, "queue_depth")};
}

Status CheckIncast(const v1::ProbeSpec& spec) {
  const IncastPlan plan = IncastPlanOf(spec);
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckBound({"message_bytes", plan.message_bytes, 1, kIncastMessageBytesMax}));
  RETURN_IF_ERROR(CheckBound({"duration_ms", plan.duration_ms, 1, kDurationMaxMs}));
  return CheckBound({"queue_depth", plan.depth, 1, kIncastQueueDepthMax});
}

ProbeNeeds NeedsIncast(const v1::ProbeSpec& spec) {
  const IncastPlan plan = IncastPlanOf(spec);
  return host::RcOptions{.memory_bytes = plan.message_bytes, .send_queue_depth = plan.depth};
}

Status PrepareIncast(ProbeRun& run) {
  run.watch.Begin();
  return {};
}

void InitiateIncast(ProbeRun& run, v1::ProbeResult& result) {
  const IncastPlan plan = IncastPlanOf(run.spec);
  const Burst burst{.request = {.operation = host::Operation::kWrite, .bytes = plan.message_bytes},
                    .depth = plan.depth,
                    .count = 0,
                    .time = std::chrono::milliseconds(plan.duration_ms)};
  auto bandwidth = RunBurst(run, burst, "write");
  if (bandwidth.ok()) *result.mutable_bandwidth() = *std::move(bandwidth);
  run.pause(kSettle);
  *result.mutable_counter_deltas() = run.watch.End();
  Conclude(bandwidth.status(), result);
}

// The initiators settle before they report, and all start at about the same time: at the stop
// request, the burst has settled at this end too.
void RespondIncast(ProbeRun& run, v1::ProbeResult& result) {
  run.await_stop();
  *result.mutable_counter_deltas() = run.watch.End();
  Conclude(Status(), result);
}

}  // namespace

extern const ProbeKind incast = {
    .name = "incast",
    .doc = "One sender of a burst of many to one port, with what it did to the ports' counters.",
    .check = CheckIncast,
    .needs = NeedsIncast,
    .prepare = PrepareIncast,
    .initiate = InitiateIncast,
    .respond = RespondIncast,
    .shares_responder_port = true,
};

}  // namespace fabric::probe
