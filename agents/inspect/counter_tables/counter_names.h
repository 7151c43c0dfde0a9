// Vendor-neutral counter names and their meaning. The tables next to this file map drivers'
// counters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

struct NeutralCounter {
  std::string_view name;  // "pfc_rx_frames_prio#": '#' is the digit of a priority.
  // As Counter.unit. "percent" and "objects" are gauges.
  std::string_view unit;
  // Prometheus name without the prefix "fabric_port_" or "fabric_netdev_" and the suffix "_total".
  // Different meanings never share a metric: frames and durations, received and handled.
  std::string_view metric;
  std::string_view help;
};

struct FoundNeutral {
  const NeutralCounter* counter = nullptr;
  std::string_view priority;  // The digit in the given name; may be empty
};

std::span<const NeutralCounter> AllNeutralCounters();  // In the order of the reference page

// Finds "pfc_rx_frames_prio3" as "pfc_rx_frames_prio#"; empty for an unknown name.
std::optional<FoundNeutral> FindNeutralCounter(std::string_view name);

// Whether values with that unit are gauges: a decrease does not mean a reset.
bool IsGaugeUnit(std::string_view unit);

// The digit in `name` at the '#' of `pattern`; empty when they match without one.
std::optional<std::string_view> MatchPriority(std::string_view pattern, std::string_view name);

}  // namespace fabric::inspect
