// What is known of counters by name: one row each, with width, unit and whether it is kept.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

// A register of ports/N/counters, which the InfiniBand specification defines (PortCounters).
struct PortRegister {
  std::string_view name;
  std::uint64_t max;     // Stops there.
  std::uint64_t factor;  // Units in one count of the register.
  std::string_view unit;
};

// The row of that name; nullptr for a counter of a later kernel.
const PortRegister* FindPortRegister(std::string_view name);

// One file of ports/N/counters as a counter. DATA_LOSS for a value that no register can hold.
Result<v1::Counter> ParsePortCounter(std::string_view name, std::string_view text);

// "bytes", "packets", "frames", "microseconds", "events"; empty when the name does not tell.
std::string_view UnitOf(std::string_view counter);

// Whether an ethtool counter says something about pause, discards or the link; drivers have
// hundreds of others. Names as the drivers have them, all vendors.
bool IsPauseCounter(std::string_view name);

}  // namespace fabric::inspect
