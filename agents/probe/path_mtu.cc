// The largest MTU that crosses: for each size a connection of its own, over which one packet of
// that size is written and one is read back, so that both directions are known.
#include <algorithm>

#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kSteps = 5;  // 256 to 4096
// A step that does not cross fails after some 67 ms << 2 at best, within a second or two with
// adapters that wait up to four times as long. A job's own settings are taken where given.
constexpr std::uint32_t kRetries = 2;

std::uint32_t StepBytes(std::uint32_t step) {
  return kPathMtuMin << step;
}

ProbeNeeds NeedsPathMtu(const v1::ProbeSpec&) {
  return host::RcOptions{.queue_pairs = kSteps, .memory_bytes = StepBytes(kSteps - 1)};
}

bool Tune(const v1::ProbeSpec& spec, std::uint32_t queue_pair, host::ConnectionSettings& settings) {
  if (StepBytes(queue_pair) > settings.path_mtu_bytes) return false;
  settings.path_mtu_bytes = StepBytes(queue_pair);
  if (!spec.queue_pair().has_retry_count()) settings.retry_count = kRetries;
  return true;
}

Status Cross(ProbeRun& run, std::uint32_t step, host::Operation operation, std::string_view what) {
  RETURN_IF_ERROR(run.queue_pairs->Post({.operation = operation,
                                         .queue_pair = step,
                                         .bytes = StepBytes(step),
                                         .id = std::uint64_t{step} + 1}));
  Pace pace(run, run.clock.Now().steady);
  return AwaitCompletion(run, pace, {what, 1, 1});
}

Status CrossBothWays(ProbeRun& run, std::uint32_t step) {
  RETURN_IF_ERROR(Cross(run, step, host::Operation::kWrite, "write"));
  return Cross(run, step, host::Operation::kRead, "read");
}

void InitiatePathMtu(ProbeRun& run, v1::ProbeResult& result) {
  const std::uint32_t wanted = run.settings.path_mtu_bytes;
  Status status;
  for (std::uint32_t step = 0; step < kSteps && StepBytes(step) <= wanted; ++step) {
    v1::MtuStep& step_result = *result.add_mtu_steps();
    step_result.set_mtu_bytes(StepBytes(step));
    if (!status.ok()) {
      step_result.set_reason("not tried: a smaller one did not cross");
      continue;
    }
    if (step == 0) result.set_path_mtu_bytes(0);
    status = CrossBothWays(run, step);
    step_result.set_delivered(status.ok());
    step_result.set_reason(status.message());
    if (status.ok())
      result.set_path_mtu_bytes(StepBytes(step));
    else
      status = status.In(Format("at packet size {} bytes (maximum {})", StepBytes(step), wanted));
  }
  Conclude(status, result);
}

}  // namespace

extern const ProbeKind path_mtu = {
    .name = "path_mtu",
    .doc = "The largest RDMA packet that crosses, there and back.",
    .check = CheckCommon,
    .needs = NeedsPathMtu,
    .tune = Tune,
    .initiate = InitiatePathMtu,
    .respond = StandBy,
};

}  // namespace fabric::probe
