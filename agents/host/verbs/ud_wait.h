// Wait for datagrams of several queue pairs without polling, for one thread.
#pragma once

#include <span>

#include "agents/host/sysfs.h"
#include "agents/host/verbs/queue_pairs.h"
#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

class UdWait {
 public:
  static Result<UdWait> Open();

  // Sleeps until one of them has an event, until `until`, or until Wake(), also one since the last
  // Sleep(). Ignores queue pairs without events (event_fd() < 0).
  void Sleep(std::span<UdQueuePairs* const> pairs, SteadyTime now, SteadyTime until);
  void Wake();  // From any thread

 private:
  explicit UdWait(Fd wake) : wake_(std::move(wake)) {}

  Fd wake_;
};

// Processor time of the calling thread (CLOCK_THREAD_CPUTIME_ID).
Duration ThreadCpuTime();

}  // namespace fabric::host
