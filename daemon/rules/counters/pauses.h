// Pauses in motion: of priorities (PFC) and of the whole link (802.3x).
#pragma once

#include <optional>
#include <string>

#include "daemon/rules/counters/moving.h"

namespace fabric::rules {

// Above this part of the time a port is throttled, whatever the load: our choice, well above what
// incast makes of a fabric in order. A profile's pause_max_percent takes its place.
inline constexpr double kPauseMaxPercent = 20;

struct Paused {
  double percent = 0;  // Of the window
  Count count = {};
  double seconds = 0;
  std::optional<unsigned> priority;  // Nothing: the whole link
};
std::string ShowPaused(const Paused& paused);  // "priority 3", "the whole link"

// The longest of all priorities and the link; nothing where no driver counts it.
std::optional<Paused> PauseReceived(const fleet::PortView& port);
std::optional<Paused> PauseSent(const fleet::PortView& port);

struct PauseLimit {
  double percent = kPauseMaxPercent;
  std::string basis = "rule";
};
PauseLimit PauseLimitOf(const fleet::PortView& port);

bool HasPauseStorm(const fleet::PortView& port);

}  // namespace fabric::rules
