// What systemd wants to hear from a service: the protocol of sd_notify(3).
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace fabric::agent {

class ServiceManager {
 public:
  // `socket` is what NOTIFY_SOCKET holds, `watchdog_us` what WATCHDOG_USEC holds; empty when unset.
  ServiceManager(std::string socket, std::string_view watchdog_us);

  // Sends one assignment, "READY=1". Nobody may be listening.
  void Notify(std::string_view assignment) const;
  // How often to send "WATCHDOG=1": half of what is allowed. Zero: not wanted.
  Duration watchdog_interval() const { return watchdog_interval_; }

 private:
  const std::string socket_;
  Duration watchdog_interval_{};
};

}  // namespace fabric::agent
