// Parsers for routing texts: output of ip(8) without options for JSON or colors, /proc/net. Pure.
// Skip lines in other formats. Without local, broadcast, multicast and link-local routes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/routing.pb.h"

namespace fabric::inspect {

using TableNames = std::map<std::string, std::uint32_t, std::less<>>;
// etc/iproute2/rt_tables, with the names that ip(8) has built in.
TableNames ParseTableNames(std::string_view text);

// `ip [-6] route show table all`. A table with an unknown name has no number.
std::vector<v1::IpRoute> ParseIpRoutes(std::string_view text, bool ipv6, const TableNames& names);
// `ip [-6] rule`. Without the rule of table local.
std::vector<v1::IpRule> ParseIpRules(std::string_view text, bool ipv6, const TableNames& names);
// `ip neigh`
std::vector<v1::IpNeighbor> ParseIpNeighbors(std::string_view text);

// proc/net/route, ipv6_route and arp, of a little-endian machine. Routes have no table.
std::vector<v1::IpRoute> ParseProcRoutes(std::string_view text);
std::vector<v1::IpRoute> ParseProcRoutes6(std::string_view text);
std::vector<v1::IpNeighbor> ParseProcArp(std::string_view text);

// Whether the destination is link-local or multicast: "fe80::/64".
bool IsLocalDestination(std::string_view destination);

}  // namespace fabric::inspect
