// Links as several rules see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/equality_rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// Bits per second of a fabric port on hardware that is up: the netdev's speed on Ethernet, where
// "rate" of sysfs is made up; nothing when it is not known.
std::optional<std::uint64_t> LinkRate(const fleet::PortView& port);

// An Ethernet link at an eighth of what the port can do, or less: no switch port is meant for that.
bool IsFarBelowMaximum(const fleet::PortView& port);
// An InfiniBand link of one lane, which ib_width_full reports.
bool IsSingleLane(const fleet::PortView& port);

std::string ShowRate(const Value& value);
std::string RateSource(const fleet::PortView& port);
std::vector<v1::Remedy> RateRemedies(const fleet::PortView& port);

}  // namespace fabric::rules
