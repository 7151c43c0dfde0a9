// Time that a thread of this process ran, and time that it waited for a processor.
//
// Source: /proc/self/task/TID/schedstat, kernel Documentation/scheduler/sched-stats.rst.
#pragma once

#include <sys/types.h>

#include "base/clock.h"

namespace fabric::host {

struct ThreadTimes {
  Duration ran{};
  Duration waited{};
};

// Since its start. Zero if the kernel has no statistics, or the thread has ended.
ThreadTimes ThreadTimesOf(pid_t tid);

}  // namespace fabric::host
