// Time that a port is paused, by priority (PFC) or as a whole link (802.3x).
#pragma once

#include <optional>
#include <string>

#include "daemon/rules/counters/rates.h"

namespace fabric::rules {

struct Paused {
  double percent = 0;  // Of the window
  Count count = {};
  double seconds = 0;                // The window
  std::optional<unsigned> priority;  // Nothing: the whole link
};

// The highest value of all priorities and the link; nothing where the driver does not count it.
std::optional<Paused> PauseReceived(const fleet::PortView& port);
std::optional<Paused> PauseSent(const fleet::PortView& port);

// Above this part of the time a port is throttled at any load: our choice, far above the effect of
// incast in a healthy fabric. A profile's pause_max_percent replaces it.
struct PauseLimit {
  double percent = 20;
  std::string basis = "rule";
};
PauseLimit PauseLimitOf(const fleet::PortView& port);

bool HasPauseStorm(const fleet::PortView& port);

}  // namespace fabric::rules
