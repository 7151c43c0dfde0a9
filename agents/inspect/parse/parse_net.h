// Parsers for netdev texts: /proc/net, bonding, names of switchdev ports. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabric::inspect {

// Netdevs of IPv4 default routes, in the order of /proc/net/route.
std::vector<std::string> DefaultRouteNetdevs(std::string_view proc_net_route);

struct VlanLine {
  std::string netdev;
  std::uint32_t id = 0;
  std::string lower;
};
// Lines of /proc/net/vlan/config: "eth0.100       | 100  | eth0".
std::vector<VlanLine> ParseVlanConfig(std::string_view text);

// The line "EGRESS priority mappings: 0:3 4:5" of /proc/net/vlan/<netdev>: socket priority to
// priority of the tag.
std::map<std::uint32_t, std::uint32_t> ParseVlanEgress(std::string_view text);

// A map of socket priorities as a list of eight; empty for an empty map (all 0).
std::vector<std::uint32_t> EgressPriorities(const std::map<std::uint32_t, std::uint32_t>& map);

// "802.3ad 4": returns the word, which is the same in all kernels.
std::string FirstWord(std::string_view text);

// Whether phys_port_name names a representor, the switch side of a function: "pf0vf3",
// "pf0sf88", "pf0hpf", "c1pf0vf1" (Documentation/networking/devlink/devlink-port.rst). "p0" is the
// port itself.
bool IsRepresentorPort(std::string_view physical_port_name);

}  // namespace fabric::inspect
