// One sender's part of a burst of many to one port: RDMA writes for a time. Both ends read the
// counters of their port before the partner hears of them, and after the burst has settled. What
// they say together the controller judges.
#include <chrono>

#include "agents/probe/burst.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kMessageBytesMax = 8 << 20;
constexpr std::uint32_t kDurationMaxMs = 2000;
constexpr std::uint32_t kQueueDepthMax = 1024;
// Drivers and firmware that gather counters by themselves do so once a second (bnxt_en:
// BNXT_DEF_STATS_COAL_TICKS, ice: the service task).
constexpr Duration kSettle = std::chrono::milliseconds(1500);

struct Plan {
  std::uint32_t message_bytes;
  std::uint32_t duration_ms;
  std::uint32_t depth;
};

Plan PlanOf(const v1::ProbeSpec& spec) {
  const v1::Incast& wanted = spec.incast();
  return {.message_bytes = wanted.message_bytes() == 0 ? 65536 : wanted.message_bytes(),
          .duration_ms = wanted.duration_ms() == 0 ? 200 : wanted.duration_ms(),
          .depth = wanted.queue_depth() == 0 ? 16 : wanted.queue_depth()};
}

Status Check(const v1::ProbeSpec& spec) {
  const Plan plan = PlanOf(spec);
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckBound({"message_bytes", plan.message_bytes, 1, kMessageBytesMax}));
  RETURN_IF_ERROR(CheckBound({"duration_ms", plan.duration_ms, 1, kDurationMaxMs}));
  return CheckBound({"queue_depth", plan.depth, 1, kQueueDepthMax});
}

ProbeNeeds Needs(const v1::ProbeSpec& spec) {
  const Plan plan = PlanOf(spec);
  return host::RcOptions{.memory_bytes = plan.message_bytes, .send_queue_depth = plan.depth};
}

Status Prepare(ProbeRun& run) {
  run.watch.Begin();
  return {};
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  const Plan plan = PlanOf(run.spec);
  const Burst burst{.request = {.operation = host::Operation::kWrite, .bytes = plan.message_bytes},
                    .depth = plan.depth,
                    .count = 0,
                    .time = std::chrono::milliseconds(plan.duration_ms)};
  auto bandwidth = RunBurst(run, burst, "write");
  if (bandwidth.ok()) *result.mutable_bandwidth() = *std::move(bandwidth);
  run.pause(kSettle);
  *result.mutable_moves() = run.watch.End();
  Conclude(bandwidth.status(), result);
}

// The initiators settle before they report, and all start at about the same time: at the stop
// request, the burst has settled at this end too.
void Respond(ProbeRun& run, v1::ProbeResult& result) {
  run.await_stop();
  *result.mutable_moves() = run.watch.End();
  Conclude(Status(), result);
}

}  // namespace

extern const ProbeKind incast = {
    .name = "incast",
    .doc = "One sender of a burst of many to one port, with what it did to the ports' counters.",
    .check = Check,
    .needs = Needs,
    .prepare = Prepare,
    .initiate = Initiate,
    .respond = Respond,
    .shares_responder_port = true,
};

}  // namespace fabric::probe
