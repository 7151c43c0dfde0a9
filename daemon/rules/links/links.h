// Link rate, MTU and netdevs of ports, as rules of several folders need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/equality_rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Bits per second of a hardware fabric port that is up. Ethernet: speed of the netdev, because
// "rate" in sysfs is not its real speed there. Absent if unknown.
std::optional<std::uint64_t> LinkRate(const fleet::PortView& port);

// An Ethernet link at one eighth of the maximum of its port, or less. No switch port is meant for
// that.
bool IsFarBelowMaximum(const fleet::PortView& port);
// An InfiniBand link of one lane, which ib_width_full reports.
bool IsSingleLane(const fleet::PortView& port);

std::string ShowRate(const Value& value);
std::string RateSource(const fleet::PortView& port);
std::vector<v1::Remedy> RateRemedies(const fleet::PortView& port);

// MTU of the netdev of an Ethernet port that is up.
std::optional<std::uint64_t> NetdevMtu(const fleet::PortView& port);

// Headers for which the kernel reserves room: GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4.
inline constexpr std::uint32_t kRoceHeaderBytes = 96;

// The largest of 256, 512 ... 4096 that fits into `bytes`; 256 if none fits.
std::uint32_t RdmaMtuWithin(std::uint32_t bytes);

}  // namespace fabric::rules
