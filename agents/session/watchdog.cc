#include "agents/session/watchdog.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/systemd.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

constexpr Duration kSettlesIn = std::chrono::seconds(3);  // Has inspected, sampled and connected

// Half of the limit; zero without a limit.
Duration NotifyInterval(const ServiceEnvironment& environment) {
  const char* const limit_us = environment.watchdog_us;
  const auto limit = ParseNumber<std::int64_t>(limit_us == nullptr ? "" : limit_us);
  return limit.ok() && *limit > 0 ? Duration(std::chrono::microseconds(*limit) / 2) : Duration(0);
}

// The next signal; 0 after `patience`. Waits without limit when `patience` is zero.
int NextSignal(const sigset_t& signals, Duration patience) {
  if (patience <= Duration::zero()) return sigwaitinfo(&signals, nullptr);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (patience - seconds).count()};
  return std::max(0, sigtimedwait(&signals, nullptr, &timeout));
}

}  // namespace

void Notify(const ServiceEnvironment& environment, std::string_view state) {
  if (const Status status = NotifySystemd(environment.notify_socket, state); !status.ok())
    log::Warning("cannot notify systemd ({}): {}", state, status.message());
}

sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void AwaitStopSignal(const sigset_t& signals, const Watchdog& watchdog, const Clock& clock) {
  const Duration interval = NotifyInterval(watchdog.environment);
  std::uint64_t inspections = 0;
  SteadyTime inspected_at = clock.Now().steady;
  bool settled = false;
  while (true) {
    const int signal = NextSignal(signals, settled ? interval : kSettlesIn);
    if (signal == SIGHUP)
      watchdog.reload();
    else if (signal > 0)
      return log::Info("stopping: {}", signal == SIGTERM ? "SIGTERM" : "SIGINT");
    else if (!std::exchange(settled, true))
      watchdog.settled();
    const SteadyTime now = clock.Now().steady;
    const std::uint64_t before = std::exchange(inspections, watchdog.inspections());
    if (inspections != before) inspected_at = now;
    if (interval > Duration::zero() && now - inspected_at < watchdog.stuck_after)
      Notify(watchdog.environment, "WATCHDOG=1");
  }
}

}  // namespace fabric::agent
