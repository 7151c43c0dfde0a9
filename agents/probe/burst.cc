#include "agents/probe/burst.h"

#include <array>

#include "agents/probe/polling.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

class Running {
 public:
  Running(ProbeRun& run, const Burst& burst, std::string_view what)
      : run_(run), burst_(burst), what_(what), begin_(run.clock.Now().steady) {}

  Result<Duration> Run() {
    while (true) {
      if (run_.stopped()) return Late();
      if (!Over()) RETURN_IF_ERROR(Fill());
      if (done_ == posted_) return run_.clock.Now().steady - begin_;
      RETURN_IF_ERROR(Drain());
    }
  }
  std::uint64_t done() const { return done_; }

 private:
  bool Over() const {
    return (burst_.count != 0 && posted_ == burst_.count) ||
           (burst_.time > Duration::zero() && posted_ > 0 &&
            run_.clock.Now().steady - begin_ >= burst_.time);
  }

  Status Fill() {
    while (posted_ - done_ < burst_.depth && (burst_.count == 0 || posted_ < burst_.count)) {
      host::WorkRequest request = burst_.request;
      request.id = ++posted_;
      RETURN_IF_ERROR(run_.queue_pairs->Post(request));
    }
    return {};
  }

  Status Drain() {
    std::array<host::Completion, 16> completions;
    Pace pace(run_, SteadyTime());
    while (true) {
      ASSIGN_OR_RETURN(const std::size_t count, run_.queue_pairs->Poll(completions));
      for (const host::Completion& completion : std::span(completions).first(count)) {
        // Of one that has failed before, whose other requests are flushed
        if (completion.queue_pair != burst_.request.queue_pair) continue;
        if (!completion.ok)
          return {Code::kUnavailable,
                  Format("{} {}: {}", what_, completion.work_request_id, completion.error)};
        done_ = completion.work_request_id;  // In order
      }
      if (count > 0) return {};
      if (!pace.Next()) return Late();
    }
  }

  Status Late() const {
    return {Code::kDeadlineExceeded, Format("{} of {} {}s were complete", done_, posted_, what_)};
  }

  ProbeRun& run_;
  const Burst& burst_;
  const std::string_view what_;
  const SteadyTime begin_;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace

Result<v1::BandwidthSummary> RunBurst(ProbeRun& run, const Burst& burst, std::string_view what) {
  Running running(run, burst, what);
  ASSIGN_OR_RETURN(const Duration took, running.Run());
  const double seconds = std::chrono::duration<double>(took).count();
  if (seconds <= 0) return Status(Code::kInternal, "the clock did not move during the probe");
  v1::BandwidthSummary bandwidth;
  bandwidth.set_bytes(running.done() * burst.request.bytes);
  bandwidth.set_seconds(seconds);
  bandwidth.set_mean_bps(static_cast<double>(bandwidth.bytes()) * 8 / seconds);
  bandwidth.set_messages_per_second(static_cast<double>(running.done()) / seconds);
  return bandwidth;
}

}  // namespace fabric::probe
