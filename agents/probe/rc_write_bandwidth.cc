// RDMA writes over one reliable connection, one way, a window of them outstanding, as ib_write_bw
// does it: payload from the first post to the last completion.
#include <algorithm>
#include <array>

#include "agents/probe/numbers.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kMessageBytesMax = 8 << 20;
constexpr std::uint32_t kIterationsMax = 1'000'000;
constexpr std::uint32_t kQueueDepthMax = 4096;
constexpr std::uint32_t kSignalsPerWindow = 4;  // Completions cost; the window must not run dry.

struct Plan {
  std::uint32_t message_bytes;
  std::uint32_t iterations;
  std::uint32_t depth;

  explicit Plan(const v1::ProbeSpec& spec) {
    const v1::RcWriteBandwidth& wanted = spec.rc_write_bandwidth();
    message_bytes = wanted.message_bytes() == 0 ? 65536 : wanted.message_bytes();
    iterations = wanted.iterations() == 0 ? 1000 : wanted.iterations();
    depth = wanted.queue_depth() == 0 ? 128 : wanted.queue_depth();
  }
};

Status Check(const v1::ProbeSpec& spec) {
  const v1::RcWriteBandwidth& wanted = spec.rc_write_bandwidth();
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckBound({"message_bytes", wanted.message_bytes(), 0, kMessageBytesMax}));
  RETURN_IF_ERROR(CheckBound({"iterations", wanted.iterations(), 0, kIterationsMax}));
  return CheckBound({"queue_depth", wanted.queue_depth(), 0, kQueueDepthMax});
}

host::RcOptions Needs(const v1::ProbeSpec& spec) {
  const Plan plan(spec);
  return {.memory_bytes = plan.message_bytes, .send_queue_depth = plan.depth};
}

class Window {
 public:
  Window(ProbeRun& run, const Plan& plan)
      : run_(run), plan_(plan), signal_every_(std::max(1U, plan.depth / kSignalsPerWindow)) {}

  Status Run() {
    while (done_ < plan_.iterations) {
      RETURN_IF_ERROR(Fill());
      RETURN_IF_ERROR(Drain());
    }
    return {};
  }

 private:
  Status Fill() {
    for (; posted_ < plan_.iterations && posted_ - done_ < plan_.depth; ++posted_) {
      const std::uint32_t id = posted_ + 1;
      const bool signaled = id % signal_every_ == 0 || id == plan_.iterations;
      RETURN_IF_ERROR(run_.queue_pair.PostWrite(0, plan_.message_bytes, id, signaled));
    }
    return {};
  }

  // Waits for completions. A queue pair works in order: the completion of write N tells of all
  // before it.
  Status Drain() {
    std::array<host::Completion, 16> completions;
    Pace pace(run_);
    if (run_.stopped()) return Late();
    while (true) {
      ASSIGN_OR_RETURN(const std::size_t count, run_.queue_pair.Poll(completions));
      for (const host::Completion& completion : std::span(completions).first(count)) {
        if (!completion.ok)
          return {Code::kUnavailable, Format("write {} of {}: {}", completion.work_request_id,
                                             plan_.iterations, completion.error)};
        done_ = static_cast<std::uint32_t>(completion.work_request_id);
      }
      if (count > 0) return {};
      if (!pace.Next()) return Late();
    }
  }

  Status Late() const {
    return {Code::kDeadlineExceeded,
            Format("{} of {} writes were complete", done_, plan_.iterations)};
  }

  ProbeRun& run_;
  const Plan& plan_;
  const std::uint32_t signal_every_;
  std::uint32_t posted_ = 0;
  std::uint32_t done_ = 0;
};

void Initiate(ProbeRun& run, v1::ProbeResult& result) {
  const Plan plan(run.spec);
  const SteadyTime begin = run.clock.Now().steady;
  const Status status = Window(run, plan).Run();
  const std::chrono::duration<double> took = run.clock.Now().steady - begin;
  Conclude(status, result);
  if (!status.ok()) return;
  if (took.count() <= 0) {
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("the clock did not move during the probe");
    return;
  }
  const std::uint64_t bytes = std::uint64_t{plan.message_bytes} * plan.iterations;
  v1::BandwidthSummary& bandwidth = *result.mutable_bandwidth();
  bandwidth.set_bytes(bytes);
  bandwidth.set_seconds(took.count());
  bandwidth.set_mean_bps(static_cast<double>(bytes) * 8 / took.count());
  bandwidth.set_messages_per_second(plan.iterations / took.count());
}

// The network card does the work of this end.
void Respond(ProbeRun& run, v1::ProbeResult& result) {
  run.await_stop();
  result.set_status(v1::PROBE_STATUS_OK);
}

}  // namespace

extern const ProbeKind rc_write_bandwidth = {
    .name = "rc_write_bandwidth",
    .doc = "Payload per second of RDMA writes over one reliable connection, one way.",
    .check = Check,
    .needs = Needs,
    .initiate = Initiate,
    .respond = Respond,
};

}  // namespace fabric::probe
