// The vendor-neutral names of counters: what each means, once for all drivers. Which counter of
// which driver it is stands in counter_tables/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

struct NeutralCounter {
  std::string_view name;  // "pfc_rx_frames_prio#": '#' stands for the digit of a priority.
  // As Counter.unit: "percent" and "objects" make it a gauge, which is never a metric named _total.
  std::string_view unit;
  // Of Prometheus, without "fabric_port_" or "fabric_netdev_" in front and "_total" behind. Frames
  // and durations never share a metric, nor do things received with things acted on.
  std::string_view metric;
  std::string_view help;
};

struct FoundNeutral {
  const NeutralCounter* counter = nullptr;
  std::string_view priority;  // The digit in the name that was looked for; empty without one.
};

std::span<const NeutralCounter> AllNeutralCounters();  // In the order of the reference page.

// "pfc_rx_frames_prio3" is found as "pfc_rx_frames_prio#"; empty for what is not in the list.
std::optional<FoundNeutral> FindNeutralCounter(std::string_view name);

// Whether a value with that unit goes up and down: its fall is no reset.
bool IsGaugeUnit(std::string_view unit);

// The digit that stands in `name` where `pattern` has its '#'; empty when they agree without one.
std::optional<std::string_view> MatchPriority(std::string_view pattern, std::string_view name);

}  // namespace fabric::inspect
