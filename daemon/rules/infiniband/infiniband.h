// Ports, GUIDs and subnets of InfiniBand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

// Remedies. Without device and port the tools of infiniband-diags use the first active port of the
// node, which may be in another subnet: all commands name both.

// "-C mlx5_0 -P 1"
std::string ThroughPort(const fleet::PortView& port);
// Queries PortInfo of the port itself, by its direct route: it may have no LID.
v1::Remedy QueryPortInfo(const fleet::PortView& port, std::string_view note);
// Queries the subnet manager of the port.
v1::Remedy QuerySubnetManager(const fleet::PortView& port, std::string_view note);
// Makes the link of the port retrain.
v1::Remedy ResetLink(const fleet::PortView& port, std::string_view note);

// Address of the physical function of a virtual function; empty if unknown.
std::string_view PhysicalFunctionOf(const fleet::PortView& port);
// N of "vf N" in commands on the physical function; nothing unless the snapshot has all of them.
std::optional<std::uint32_t> VirtualFunctionIndex(const fleet::PortView& port);

}  // namespace fabric::rules
