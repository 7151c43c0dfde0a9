// Thread times: how long a thread of this process has been blocked in one step of its work.
//
// Source: /proc/self/task/TID/schedstat, kernel Documentation/scheduler/sched-stats.rst, and the
// state in /proc/self/task/TID/stat, proc(5). The kernel adds a wait for a processor to schedstat
// only when the wait ends.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/clock.h"

namespace fabric::host {

struct ThreadTimes {
  Duration ran{};
  Duration waited{};      // For a processor, until the thread ran last
  bool runnable = false;  // Runs, or waits for a processor
};

// Since the thread started. Nothing if the kernel has no statistics, or the thread has ended.
std::optional<ThreadTimes> ThreadTimesOf(pid_t tid);

// Another thread looks at the thread regularly. Time in which the thread ran or waited for a
// processor does not count, so that a busy machine is not taken for a blocked thread. If the thread
// is runnable at a look, no time since the last look counts. Without statistics all time counts.
// Not thread-safe.
class BlockedTime {
 public:
  explicit BlockedTime(SteadyTime now) : looked_at_(now) {}

  // `stepped`: the thread has begun or ended a step since the last look. Returns the time since
  // then, without that in which the thread waited for a processor.
  Duration Look(pid_t tid, bool stepped, SteadyTime now);

  // Two looks saw the current step. After a pause of the machine, one look sees a long time.
  bool confirmed() const { return looks_ >= 2; }
  bool Reaches(Duration limit) const { return confirmed() && blocked_ >= limit; }

 private:
  SteadyTime looked_at_;
  std::optional<ThreadTimes> times_;
  Duration blocked_{};  // In the current step
  int looks_ = 0;       // In the current step
};

}  // namespace fabric::host
