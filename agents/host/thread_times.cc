#include "agents/host/thread_times.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "base/text.h"

namespace fabric::host {

namespace {

// The state follows the name, which is in parentheses and can contain some.
bool IsRunnable(pid_t tid) {
  std::ifstream file(Format("/proc/self/task/{}/stat", tid));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end, 3, ") R") == 0;
}

}  // namespace

std::optional<ThreadTimes> ThreadTimesOf(pid_t tid) {
  std::ifstream file(Format("/proc/self/task/{}/schedstat", tid));
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  if (!(file >> ran >> waited)) return {};
  return ThreadTimes{.ran = std::chrono::nanoseconds(ran),
                     .waited = std::chrono::nanoseconds(waited),
                     .runnable = IsRunnable(tid)};
}

Duration BlockedTime::Look(pid_t tid, bool stepped, SteadyTime now) {
  const Duration passed = now - std::exchange(looked_at_, now);
  const std::optional<ThreadTimes> times = ThreadTimesOf(tid);
  const std::optional<ThreadTimes> before = std::exchange(times_, times);
  Duration waited{};
  Duration ran{};
  if (times && before) {
    ran = std::clamp(Duration(times->ran - before->ran), Duration(), passed);
    waited = times->runnable
                 ? passed - ran
                 : std::clamp(Duration(times->waited - before->waited), Duration(), passed - ran);
  }
  blocked_ = stepped ? Duration() : blocked_ + passed - waited - ran;
  looks_ = stepped ? 0 : looks_ + 1;
  return passed - waited;
}

}  // namespace fabric::host
