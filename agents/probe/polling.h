// Waiting for the other end by polling, in the one way that all kinds do it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agents/probe/probe.h"

namespace fabric::probe {

// Paces a loop of empty polls. It spins for as long as an answer takes on real hardware, then gives
// the processor away now and then, so that a partner that does not answer starves nobody.
class Pace {
 public:
  // Looking began at `since`.
  Pace(const ProbeRun& run, SteadyTime since) : run_(run), looked_at_(since) {}

  // Call after each empty poll. False when the probe has to end.
  bool Next();

  // Something was found at `now`; looking for the next thing begins.
  void Found(SteadyTime now) {
    looked_at_ = now;
    polls_ = 0;
  }

  // A poll at that time, or a few polls later, found nothing: what is found at T came after it, and
  // is seen T - looked_at() late at most.
  SteadyTime looked_at() const { return looked_at_; }

 private:
  const ProbeRun& run_;
  SteadyTime looked_at_;
  std::uint32_t polls_ = 0;
};

// Tells samples of the network from those of a host that was busy with something else: nobody
// looked for much longer than usual, because the thread was off the processor, so that the answer
// may have come long before it was seen.
class Punctuality {
 public:
  // `unwatched`: the longest time within which the end of a sample may have been missed.
  bool Late(Duration unwatched);

 private:
  Duration usual_{};
};

// Waits for one completion. DEADLINE_EXCEEDED when the probe has to end, UNAVAILABLE when the
// request failed, with the driver's words. `what` names the request: "write", 3, 100.
struct Awaited {
  std::string_view what;
  std::uint32_t number;
  std::uint32_t of;
};
Status AwaitCompletion(ProbeRun& run, Pace& pace, const Awaited& awaited);

// UNAVAILABLE with the driver's words: "write 3 of 100: remote access error (10)".
Status Failed(const Awaited& awaited, const std::string& error);

// Sets status and reason of a probe that ended with `status`.
void Conclude(const Status& status, v1::ProbeResult& result);

// Of an end whose adapter does all the work: stays until the controller says that it is over.
void StandBy(ProbeRun& run, v1::ProbeResult& result);

}  // namespace fabric::probe
