#include "agents/host/verbs/ud_wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <vector>

namespace fabric::host {
namespace {

constexpr Duration kSleepMax = std::chrono::seconds(10);

timespec ToTimespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

Result<UdWait> UdWait::Open() {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return FromErrno(errno, "opening an eventfd");
  return UdWait(std::move(wake));
}

void UdWait::Sleep(std::span<UdQueuePairs* const> pairs, SteadyTime now, SteadyTime until) {
  std::vector<pollfd> waiting;
  waiting.reserve(pairs.size() + 1);
  waiting.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for (const UdQueuePairs* one : pairs)
    waiting.push_back({.fd = one->event_fd(), .events = POLLIN, .revents = 0});
  const timespec timeout =
      ToTimespec(std::clamp(until - now, Duration::zero(), Duration(kSleepMax)));
  if (::ppoll(waiting.data(), waiting.size(), &timeout, nullptr) <= 0) return;
  eventfd_t count = 0;
  if (waiting[0].revents != 0) (void)::eventfd_read(wake_.get(), &count);
}

void UdWait::Wake() {
  (void)::eventfd_write(wake_.get(), 1);
}

Duration ThreadCpuTime() {
  timespec used{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
}

}  // namespace fabric::host
