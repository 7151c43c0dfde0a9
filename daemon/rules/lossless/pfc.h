// Priority flow control as two rules see it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// Lossless settings of the port: its netdev's, or of the first member that has any where the netdev
// is a bond. nullptr: none read.
const v1::DcbConfig* SettingsOf(const fleet::PortView& port);

// Priorities with PFC of a RoCE port that is up, one bit each.
std::optional<std::uint64_t> PfcMask(const fleet::PortView& port);

}  // namespace fabric::rules
