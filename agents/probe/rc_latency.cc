#include "agents/probe/rc_latency.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kRoundsPerCheck = 256;  // Well below a millisecond on hardware

}  // namespace

Rounds::Rounds(ProbeRun& run, const LatencyPlan& plan, int hops)
    : run_(run), plan_(plan), hops_(hops), begun_(run.clock.Now().steady), posted_(begun_) {}

Status Rounds::Begin(std::uint32_t round) {
  round_ = round;
  if (round % kRoundsPerCheck == 0 && run_.stopped())
    return {Code::kDeadlineExceeded, Format("{} of {} rounds were done", round - 1, plan_.rounds)};
  return {};
}

Pace Rounds::Posted() {
  posted_ = run_.clock.Now().steady;
  return {run_, posted_};
}

void Rounds::End(const Pace& pace) {
  const SteadyTime now = run_.clock.Now().steady;
  const Duration sample = (now - begun_) / hops_;
  // Either it was posted late, or it was seen late.
  const Duration unwatched = std::max(posted_ - begun_, now - pace.looked_at());
  begun_ = now;
  const bool late = late_filter_.IsLate(unwatched);
  if (round_ <= plan_.warmup) return;
  if (late)
    ++voided_;
  else
    samples_.Add(sample);
}

void Rounds::Conclude(const Status& status, v1::ProbeResult& result) const {
  probe::Conclude(status, result);
  if (!status.ok()) return;
  if (samples_.samples() == 0) {
    result.set_status(v1::PROBE_STATUS_TIMED_OUT);
    result.set_reason(Format("all {} samples are void: this host was late each time", voided_));
    result.mutable_latency()->set_voided(voided_);
    run_.late = Late::kThisEnd;
    return;
  }
  *result.mutable_latency() = samples_.Summary();
  result.mutable_latency()->set_voided(voided_);
}

}  // namespace fabric::probe
