#include "agents/probe/polling.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/text.h"

namespace fabric::probe {
namespace {

// Longer than an answer takes on real hardware.
constexpr std::uint32_t kPollsPerYield = 2048;
constexpr std::uint32_t kPollsPerCheck = 64;  // stopped() costs more than a poll.
constexpr std::uint32_t kPollsPerLook = 16;   // So does the clock; 16 polls take below 1 us.
// Minimum delay that counts as late; more than interrupts take.
constexpr Duration kLateMin = std::chrono::microseconds(5);
constexpr int kLateTimes = 8;

}  // namespace

bool Pace::Next() {
  ++polls_;
  if (polls_ % kPollsPerCheck == 0 && run_.stopped()) return false;
  if (polls_ % kPollsPerYield == 0) std::this_thread::yield();
  if (polls_ % kPollsPerLook == 0) looked_at_ = run_.clock.Now().steady;
  return true;
}

bool LateSampleFilter::IsLate(Duration unwatched) {
  if (usual_ == Duration::zero()) {
    usual_ = std::max(unwatched, Duration(1));
    return false;
  }
  const bool late = unwatched > std::max(kLateMin, kLateTimes * usual_);
  // Moving mean with bounded steps: robust against single outliers, follows a lasting change.
  usual_ += (std::min(unwatched, 4 * usual_) - usual_) / 16;
  usual_ = std::max(usual_, Duration(1));
  return late;
}

Status Failed(ProbeRun& run, const Awaited& awaited, const host::Completion& completion) {
  run.failed_by = completion.failed_by;
  return {Code::kUnavailable,
          Format("{} {} of {}: {}", awaited.what, awaited.number, awaited.of, completion.error)};
}

Status AwaitCompletion(ProbeRun& run, Pace& pace, const Awaited& awaited) {
  std::array<host::Completion, 1> completions;
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t count, run.queue_pairs->Poll(completions));
    if (count > 0) break;
    if (!pace.Next())
      return {Code::kDeadlineExceeded,
              Format("{} {} of {}: no completion", awaited.what, awaited.number, awaited.of)};
  }
  return completions[0].ok ? Status() : Failed(run, awaited, completions[0]);
}

void Conclude(const Status& status, v1::ProbeResult& result) {
  result.set_status(status.ok()                                ? v1::PROBE_STATUS_OK
                    : status.code() == Code::kDeadlineExceeded ? v1::PROBE_STATUS_TIMED_OUT
                                                               : v1::PROBE_STATUS_FAILED);
  result.set_reason(status.message());
}

void StandBy(ProbeRun& run, v1::ProbeResult& result) {
  run.await_stop();
  Conclude(Status(), result);
}

}  // namespace fabric::probe
