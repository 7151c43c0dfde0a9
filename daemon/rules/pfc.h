// Priority flow control as two rules see it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// Priorities with PFC of a RoCE port that is up, one bit each.
std::optional<std::uint64_t> PfcMask(const fleet::PortView& port);

}  // namespace fabric::rules
