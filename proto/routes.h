// Route lookup in a snapshot, and the relation of stacked netdevs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric {

// "10.10.0.0/24" or "fd00::/64". Bits beyond the prefix are 0; IPv4 is in the first 4 bytes.
struct IpPrefix {
  std::string bytes;  // 4 or 16
  std::uint32_t bits = 0;
};
// Also of an address without a prefix length: all bits. Empty for other text.
std::optional<IpPrefix> ParseIpPrefix(std::string_view text);
// Whether all addresses of `inner` are in `outer`. False for different families.
bool Contains(const IpPrefix& outer, const IpPrefix& inner);

// The route of table main with the longest prefix; nullptr: none.
const v1::IpRoute* MainRouteTo(const v1::NodeSnapshot& snapshot, std::string_view address);

// The route that packets take from the address `source` over `netdev` to `destination` (an address
// or a prefix), by the policy rules, like the kernel for a queue pair: routes over other netdevs
// do not count. nullptr: none.
const v1::IpRoute* RouteOver(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                             std::string_view source, std::string_view destination);

// Whether a VRF or bridge above the netdev can have routes of its own, which RouteOver() does not
// know.
bool HasOwnRoutes(const v1::NodeSnapshot& snapshot, std::string_view netdev);

// RouteOver() without a netdev: the route of a socket with that source address.
const v1::IpRoute* RouteFrom(const v1::NodeSnapshot& snapshot, std::string_view source,
                             std::string_view destination);

// Whether `upper` is the netdev or one above it: a bond of it, a VLAN over that.
bool IsOrIsAbove(const v1::NodeSnapshot& snapshot, std::string_view netdev, std::string_view upper);

}  // namespace fabric
