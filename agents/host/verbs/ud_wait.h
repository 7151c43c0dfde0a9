// Sleeping until datagrams come, without polling. For the one thread that looks after the queue
// pairs of all ports.
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

  // Until one of them has an event, `until` has come, or Wake() was called since the last time.
  // Those without events (event_fd() < 0) wake nobody.
  void Sleep(std::span<UdQueuePairs* const> pairs, SteadyTime now, SteadyTime until);
  void Wake();  // From any thread

 private:
  explicit UdWait(Fd wake) : wake_(std::move(wake)) {}

  Fd wake_;
};

// What the calling thread has cost until now (CLOCK_THREAD_CPUTIME_ID).
Duration ThreadCpuTime();

}  // namespace fabric::host
