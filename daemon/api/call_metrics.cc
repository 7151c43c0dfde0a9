#include "daemon/api/call_metrics.h"

#include <algorithm>

namespace fabric::api {

void CallMetrics::Count(const Key& key, Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto* const bucket =
      std::lower_bound(kDurationBuckets.begin(), kDurationBuckets.end(), seconds);
  const MutexLock lock(mutex_);
  ++counts_.calls[key];
  Durations& durations = counts_.durations[{key.method, key.transport}];
  ++durations.buckets[static_cast<std::size_t>(bucket - kDurationBuckets.begin())];
  durations.sum_seconds += seconds;
}

CallMetrics::Counts CallMetrics::Read() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace fabric::api
