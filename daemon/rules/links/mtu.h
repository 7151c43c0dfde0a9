// MTU as two rules see it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// MTU of the netdev of an Ethernet port that is up.
std::optional<std::uint64_t> NetdevMtu(const fleet::PortView& port);

// Headers that the kernel leaves room for: GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4.
inline constexpr std::uint32_t kRoceHeaderBytes = 96;

// The largest of 256, 512 ... 4096 that fits into `bytes`; 256 when none does.
std::uint32_t RdmaMtuWithin(std::uint32_t bytes);

}  // namespace fabric::rules
