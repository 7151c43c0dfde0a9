// What rules of InfiniBand share.
#pragma once

#include <optional>
#include <string_view>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/equality_rule.h"

namespace fabric::rules {

bool IsInfiniband(const fleet::PortView& port);
// A fabric port of InfiniBand that is ACTIVE.
bool IsActiveInfiniband(const fleet::PortView& port);
bool IsVirtualFunction(const fleet::PortView& port);

// "0000:0000:0000:0000"
bool IsZeroGuid(std::string_view guid);

// The prefix that every subnet has until somebody gives it one.
inline constexpr std::string_view kDefaultSubnetPrefix = "fe80:0000:0000:0000";

// Ports that can only be of one subnet: of one prefix, and where that is the default one, which
// tells no subnets apart, of one rail.
std::optional<Group> BySubnet(const Member& port);

}  // namespace fabric::rules
