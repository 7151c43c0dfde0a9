// Ping-pong of RDMA writes over one reliable connection, counted as ib_write_lat counts it: each
// side writes and then polls the last byte of what the other one writes; a sample is half of the
// time from one post to the next.
#include <atomic>
#include <vector>

#include "agents/probe/numbers.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kMessageBytesMax = 1 << 20;
constexpr std::uint32_t kIterationsMax = 1'000'000;
constexpr std::uint32_t kInlineBytes = 220;  // As perftest asks for.
constexpr std::uint32_t kLineBytes = 64;

// The memory has two halves, each beginning on a cache line: the initiator's message travels in the
// first one, the responder's in the second.
struct Plan {
  std::uint32_t message_bytes;
  std::uint32_t warmup;
  std::uint32_t rounds;  // Warm-up included

  explicit Plan(const v1::ProbeSpec& spec) {
    const v1::RcWriteLatency& wanted = spec.rc_write_latency();
    const std::uint32_t iterations = wanted.iterations() == 0 ? 1000 : wanted.iterations();
    message_bytes = wanted.message_bytes() == 0 ? 8 : wanted.message_bytes();
    warmup = wanted.warmup_iterations() == 0 ? iterations / 10 : wanted.warmup_iterations();
    rounds = warmup + iterations;
  }
  std::uint32_t half_bytes() const {
    return (message_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
};

Status Check(const v1::ProbeSpec& spec) {
  const v1::RcWriteLatency& wanted = spec.rc_write_latency();
  RETURN_IF_ERROR(CheckCommon(spec));
  // Before the sum of them is made.
  RETURN_IF_ERROR(CheckBound({"iterations", wanted.iterations(), 0, kIterationsMax}));
  RETURN_IF_ERROR(CheckBound({"warmup_iterations", wanted.warmup_iterations(), 0, kIterationsMax}));
  return CheckBound({"message_bytes", wanted.message_bytes(), 0, kMessageBytesMax});
}

host::RcOptions Needs(const v1::ProbeSpec& spec) {
  return {.memory_bytes = 2 * Plan(spec).half_bytes(),
          .send_queue_depth = 1,
          .inline_bytes = kInlineBytes};
}

// The byte that says which round it is; two rounds in a row never have the same.
std::byte Mark(std::uint32_t round) {
  return static_cast<std::byte>(round & 0xff);
}

Status Write(ProbeRun& run, const Plan& plan, std::uint32_t offset, std::uint32_t round) {
  run.queue_pair.memory()[offset + plan.message_bytes - 1] = Mark(round);
  return run.queue_pair.PostWrite(offset, plan.message_bytes, round, true);
}

Status AwaitMark(ProbeRun& run, const Plan& plan, std::uint32_t offset, std::uint32_t round) {
  const std::atomic_ref<std::byte> last(run.queue_pair.memory()[offset + plan.message_bytes - 1]);
  Pace pace(run);
  while (last.load(std::memory_order_acquire) != Mark(round))
    if (!pace.Next())
      return {Code::kDeadlineExceeded,
              Format("round {} of {}: nothing came from the partner", round, plan.rounds)};
  return {};
}

Status Ping(ProbeRun& run, const Plan& plan, std::vector<Duration>& samples) {
  SteadyTime posted = run.clock.Now().steady;
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    RETURN_IF_ERROR(Write(run, plan, 0, round));
    RETURN_IF_ERROR(AwaitCompletion(run, Format("write {} of {}", round, plan.rounds)));
    RETURN_IF_ERROR(AwaitMark(run, plan, plan.half_bytes(), round));
    const SteadyTime answered = run.clock.Now().steady;
    if (round > plan.warmup) samples.push_back((answered - posted) / 2);
    posted = answered;
  }
  return {};
}

Status Pong(ProbeRun& run, const Plan& plan) {
  for (std::uint32_t round = 1; round <= plan.rounds; ++round) {
    RETURN_IF_ERROR(AwaitMark(run, plan, 0, round));
    RETURN_IF_ERROR(Write(run, plan, plan.half_bytes(), round));
    // After the last answer the initiator may be gone before it has acknowledged it.
    if (round == plan.rounds) break;
    RETURN_IF_ERROR(AwaitCompletion(run, Format("answer {} of {}", round, plan.rounds)));
  }
  return {};
}

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  const Plan plan(run.spec);
  std::vector<Duration> samples;
  samples.reserve(plan.rounds - plan.warmup);
  const Status status = Ping(run, plan, samples);
  Conclude(status, result);
  if (status.ok()) *result.mutable_latency() = Summarize(std::move(samples));
}

void Respond(ProbeRun& run, v1::ProbeResult& result) {
  Conclude(Pong(run, Plan(run.spec)), result);
  // The queue pair stays until the controller says that the initiator has what it needs.
  if (result.status() == v1::PROBE_STATUS_OK) run.await_stop();
}

}  // namespace

extern const ProbeKind rc_write_latency = {
    .name = "rc_write_latency",
    .doc = "Half of the round trip of RDMA writes over one reliable connection.",
    .check = Check,
    .needs = Needs,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
