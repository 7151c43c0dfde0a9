#include "agents/host/thread_times.h"

#include <chrono>
#include <cstdint>
#include <fstream>

#include "base/text.h"

namespace fabric::host {

ThreadTimes ThreadTimesOf(pid_t tid) {
  std::ifstream file(Format("/proc/self/task/{}/schedstat", tid));
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  if (!(file >> ran >> waited)) return {};
  return {.ran = std::chrono::nanoseconds(ran), .waited = std::chrono::nanoseconds(waited)};
}

}  // namespace fabric::host
