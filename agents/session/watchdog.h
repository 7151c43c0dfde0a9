// Service notifications: READY and WATCHDOG of systemd, and the wait for signals.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/clock.h"

namespace fabric::agent {

// Environment of the service; null outside of systemd.
struct ServiceEnvironment {
  const char* notify_socket = nullptr;  // NOTIFY_SOCKET
  const char* watchdog_us = nullptr;    // WATCHDOG_USEC: limit between two WATCHDOG=1
};

// Sends `state` to systemd, "READY=1". Logs a failure.
void Notify(const ServiceEnvironment& environment, std::string_view state);

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and those that it starts.
sigset_t BlockStopSignals();

// While the service runs.
struct Watchdog {
  ServiceEnvironment environment;
  Duration stuck_after;                        // Longest time without an inspection
  std::function<std::uint64_t()> inspections;  // Number of inspections so far
  std::function<void()> settled;               // Called once, 3 s after the start
  std::function<void()> reload;                // Called for SIGHUP
};

// Waits for a stop signal and logs it. Until then sends WATCHDOG=1 twice within systemd's limit,
// unless inspections are stuck, and calls `reload` for each SIGHUP.
void AwaitStopSignal(const sigset_t& signals, const Watchdog& watchdog, const Clock& clock);

}  // namespace fabric::agent
