// Vendor-neutral names of drivers' counters: one row for each driver's name of a thing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

struct CounterName {
  v1::CounterSource source;
  std::string_view driver_name;  // '#' stands for the digit of a priority.
  std::string_view metric;
  std::string_view help;
  double scale = 1;  // To the metric's base unit
};

struct NamedCounter {
  const CounterName* row;
  std::string priority;  // Empty when the name has none
};

// Empty for a name that is in no row.
std::optional<NamedCounter> FindCounterName(v1::CounterSource source, std::string_view name);

}  // namespace fabric::agent
