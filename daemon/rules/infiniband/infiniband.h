// Ports, GUIDs and subnets of InfiniBand.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/equality_rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

bool IsInfiniband(const fleet::PortView& port);
// A fabric port of InfiniBand that is ACTIVE.
bool IsActiveInfiniband(const fleet::PortView& port);
bool IsVirtualFunction(const fleet::PortView& port);

// "0000:0000:0000:0000"
bool IsZeroGuid(std::string_view guid);

// Unicast LIDs are 1 to kUnicastEnd - 1. Multicast LIDs follow.
inline constexpr std::uint32_t kUnicastEnd = 0xc000;

// The default prefix of a subnet.
inline constexpr std::string_view kDefaultSubnetPrefix = "fe80:0000:0000:0000";

// Ports of one subnet: of one prefix. Several subnets may have the default prefix; with it, only
// ports of one rail are in one group.
std::optional<Group> BySubnet(const Member& port);

// Queries the port with smpquery.
v1::Remedy QueryPortInfo(const fleet::PortView& port, std::string_view note);

}  // namespace fabric::rules
