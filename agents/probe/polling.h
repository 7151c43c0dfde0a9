// Completion polling, shared by all probe kinds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agents/probe/probe.h"

namespace fabric::probe {

// Paces a loop of empty polls: spins for as long as an answer takes on real hardware, then yields
// the processor from time to time, so that waiting for a dead partner does not starve other
// threads.
class Pace {
 public:
  // Polling began at `since`.
  Pace(const ProbeRun& run, SteadyTime since) : run_(run), looked_at_(since) {}

  // Call after each empty poll. False when the probe must end.
  bool Next();

  // A poll found something at `now`.
  void Found(SteadyTime now) {
    looked_at_ = now;
    polls_ = 0;
  }

  // A poll at this time, or a few polls later, found nothing. A completion found at T is at most
  // T - looked_at() old.
  SteadyTime looked_at() const { return looked_at_; }

 private:
  const ProbeRun& run_;
  SteadyTime looked_at_;
  std::uint32_t polls_ = 0;
};

// Late-sample filter: rejects samples taken after the thread was off the processor for much longer
// than usual, because the answer may have arrived long before it was seen.
class LateSampleFilter {
 public:
  // `unwatched`: upper bound for the delay between the end of a sample and its detection.
  bool IsLate(Duration unwatched);

 private:
  Duration usual_{};
};

// Waits for one completion. DEADLINE_EXCEEDED when the probe must end, UNAVAILABLE with the
// driver's message when the request failed. `what` names the request: "write", 3, 100.
struct Awaited {
  std::string_view what;
  std::uint32_t number;
  std::uint32_t of;
};
Status AwaitCompletion(ProbeRun& run, Pace& pace, const Awaited& awaited);

// UNAVAILABLE with the driver's message: "write 3 of 100: remote access error (10)". Sets
// run.failed_by.
Status Failed(ProbeRun& run, const Awaited& awaited, const host::Completion& completion);

// Sets status and reason of a probe that ended with `status`.
void Conclude(const Status& status, v1::ProbeResult& result);

// For an end whose adapter does all the work: waits until the controller stops the probe.
void StandBy(ProbeRun& run, v1::ProbeResult& result);

}  // namespace fabric::probe
