#include "agents/probe/rc_bandwidth.h"

#include <atomic>
#include <bit>
#include <cstring>

#include "agents/probe/polling.h"
#include "agents/probe/rc_window.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kMessageBytesMax = 8 << 20;
constexpr std::uint32_t kIterationsMax = 1'000'000;
constexpr std::uint32_t kQueueDepthMax = 4096;
constexpr std::uint32_t kQueuePairsMax = 64;
constexpr std::uint32_t kMemoryMax = 256 << 20;  // Registered, of one end

// Two lines behind the payload, written when both ends send at once: the initiator says go, the
// responder says how long its direction took.
constexpr std::uint32_t kGoAt = 0;
constexpr std::uint32_t kReportAt = 64;
constexpr std::uint32_t kReportMarkAt = kReportAt + 15;
constexpr std::uint32_t kReportBytes = 16;

// Its completion is not waited for: those of the requests after it tell of it, too.
Status SayGo(ProbeRun& run, const WindowPlaces& places) {
  run.queue_pairs->memory()[places.control + kGoAt] = std::byte{1};
  return run.queue_pairs->Post({.operation = host::Operation::kWrite,
                                .offset = places.control + kGoAt,
                                .bytes = 1,
                                .id = kGoId,
                                .signaled = false});
}

Status AwaitTold(ProbeRun& run, std::uint32_t offset) {
  const std::atomic_ref<std::byte> mark(run.queue_pairs->memory()[offset]);
  Pace pace(run, run.clock.Now().steady);
  while (mark.load(std::memory_order_acquire) == std::byte{0})
    if (!pace.Next()) return {Code::kDeadlineExceeded, "no message from the partner"};
  return {};
}

// Both ends may differ in their byte order.
std::uint64_t NetworkOrder(std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) return __builtin_bswap64(value);
  return value;
}

Status TellDuration(ProbeRun& run, const WindowPlaces& places, Duration took) {
  const std::uint64_t value = NetworkOrder(static_cast<std::uint64_t>(took.count()));
  std::memcpy(&run.queue_pairs->memory()[places.control + kReportAt], &value, sizeof value);
  run.queue_pairs->memory()[places.control + kReportMarkAt] = std::byte{1};
  RETURN_IF_ERROR(run.queue_pairs->Post({.operation = host::Operation::kWrite,
                                         .offset = places.control + kReportAt,
                                         .bytes = kReportBytes,
                                         .id = 1}));
  Pace pace(run, run.clock.Now().steady);
  return AwaitCompletion(run, pace, {"report", 1, 1});
}

Result<Duration> AwaitDuration(ProbeRun& run, const WindowPlaces& places) {
  RETURN_IF_ERROR(
      AwaitTold(run, places.control + kReportMarkAt).In("the other direction's bandwidth"));
  std::uint64_t value = 0;
  std::memcpy(&value, &run.queue_pairs->memory()[places.control + kReportAt], sizeof value);
  value = NetworkOrder(value);
  if (value == 0 || value > static_cast<std::uint64_t>(Duration::max().count()))
    return Status(Code::kDataLoss, "the partner reported a duration that cannot be");
  return Duration(static_cast<std::int64_t>(value));
}

Status Summarize(const BandwidthPlan& plan, Duration took, v1::BandwidthSummary& bandwidth) {
  const double seconds = std::chrono::duration<double>(took).count();
  if (seconds <= 0) return {Code::kInternal, "the clock did not move during the probe"};
  const std::uint64_t bytes = std::uint64_t{plan.message_bytes} * plan.iterations;
  bandwidth.set_bytes(bytes);
  bandwidth.set_seconds(seconds);
  bandwidth.set_mean_bps(static_cast<double>(bytes) * 8 / seconds);
  bandwidth.set_messages_per_second(plan.iterations / seconds);
  return {};
}

Status Initiate(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result) {
  const WindowPlaces places(plan);
  if (plan.bidirectional) RETURN_IF_ERROR(SayGo(run, places));
  Window window(run, plan,
                {.offset = places.forward, .sends = true, .receives = plan.bidirectional});
  ASSIGN_OR_RETURN(const Duration took, window.Run());
  RETURN_IF_ERROR(Summarize(plan, took, *result.mutable_bandwidth()));
  if (!plan.bidirectional) return {};
  ASSIGN_OR_RETURN(const Duration reverse, AwaitDuration(run, places));
  return Summarize(plan, reverse, *result.mutable_reverse_bandwidth());
}

Status Respond(ProbeRun& run, const BandwidthPlan& plan) {
  const WindowPlaces places(plan);
  if (plan.bidirectional) RETURN_IF_ERROR(AwaitTold(run, places.control + kGoAt));
  Window window(run, plan,
                {.offset = places.reverse, .sends = plan.bidirectional, .receives = true});
  ASSIGN_OR_RETURN(const Duration took, window.Run());
  return plan.bidirectional ? TellDuration(run, places, took) : Status();
}

}  // namespace

Status CheckBandwidth(const v1::ProbeSpec& spec, const BandwidthPlan& plan) {
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(CheckBound({"message_bytes", plan.message_bytes, 1, kMessageBytesMax}));
  RETURN_IF_ERROR(CheckBound({"iterations", plan.iterations, 1, kIterationsMax}));
  RETURN_IF_ERROR(CheckBound({"queue_depth", plan.depth, 1, kQueueDepthMax}));
  RETURN_IF_ERROR(CheckBound({"queue_pairs", plan.queue_pairs, 1, kQueuePairsMax}));
  const std::uint32_t bytes = WindowPlaces(plan).bytes;
  if (bytes <= kMemoryMax) return {};
  return {Code::kInvalidArgument,
          Format("message_bytes and queue_pairs: expected at most {} bytes of memory, saw {}",
                 kMemoryMax, bytes)};
}

ProbeNeeds BandwidthNeeds(const BandwidthPlan& plan) {
  return host::RcOptions{.queue_pairs = plan.queue_pairs,
                         .memory_bytes = WindowPlaces(plan).bytes,
                         .send_queue_depth = plan.depth + (plan.bidirectional ? 1 : 0),
                         .receive_queue_depth = ReceivesAhead(plan)};
}

Status PrepareBandwidth(ProbeRun& run, const BandwidthPlan& plan) {
  for (std::uint32_t pair = 0; pair < plan.queue_pairs; ++pair)
    for (std::uint32_t n = 0; n < ReceivesAhead(plan); ++n)
      RETURN_IF_ERROR(PostReceive(run, plan, pair));
  return {};
}

void InitiateBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result) {
  const Status status = Initiate(run, plan, result);
  Conclude(status, result);
  if (status.ok()) return;
  result.clear_bandwidth();
  result.clear_reverse_bandwidth();
}

void RespondBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result) {
  Conclude(Respond(run, plan), result);
  if (result.status() == v1::PROBE_STATUS_OK) run.await_stop();
}

}  // namespace fabric::probe
