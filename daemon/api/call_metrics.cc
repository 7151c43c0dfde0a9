#include "daemon/api/call_metrics.h"

namespace fabric::api {

void CallMetrics::Count(const Key& key, Duration duration) {
  const MutexLock lock(mutex_);
  ++counts_.calls[key];
  counts_.durations[{key.method, key.transport}].Add(duration);
}

CallMetrics::Counts CallMetrics::Read() const {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace fabric::api
