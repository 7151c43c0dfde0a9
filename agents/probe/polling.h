// Waiting for the other end by polling, in the one way that all kinds do it.
#pragma once

#include <cstdint>
#include <string_view>

#include "agents/probe/probe.h"

namespace fabric::probe {

// Paces a loop of empty polls. It spins for as long as an answer takes on real hardware, then gives
// the processor away between polls, so that a partner that does not answer starves nobody.
class Pace {
 public:
  explicit Pace(const ProbeRun& run) : run_(run) {}

  // Call after each empty poll. False when the probe has to end.
  bool Next();

 private:
  const ProbeRun& run_;
  std::uint32_t polls_ = 0;
};

// Waits for one completion. DEADLINE_EXCEEDED when the probe has to end, UNAVAILABLE when the
// write failed, with the driver's words. `what` names the write: "write 3 of 100".
Status AwaitCompletion(ProbeRun& run, std::string_view what);

// Sets status and reason of a probe that ended with `status`.
void Conclude(const Status& status, v1::ProbeResult& result);

}  // namespace fabric::probe
