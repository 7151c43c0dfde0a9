// Routes, policy rules and neighbors: parsers of rtnetlink messages (RTM_NEWROUTE, RTM_NEWRULE,
// RTM_NEWNEIGH). Pure. IPv4 and IPv6 only; errors as for ParseRdmaDevices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

// A route, or one next hop of a route with several. Without routes of the node's own addresses,
// broadcast, multicast and cached routes.
struct RouteInfo {
  std::string destination;  // "10.10.0.0/24"; the default route is "0.0.0.0/0" or "::/0".
  std::optional<std::uint32_t> netdev_index;
  std::optional<std::string> gateway;
  std::uint32_t table = 0;
  std::optional<std::uint32_t> metric;
  std::optional<std::string> source;
  std::optional<std::uint32_t> mtu_bytes;
  std::optional<std::uint32_t> hop_limit;
  std::string type;   // "blackhole", "unreachable", "prohibit"; empty: unicast
  std::string scope;  // "link", "host", "site"; empty: global
};

struct RuleInfo {
  std::uint32_t priority = 0;
  std::string from;  // "10.10.0.1/32"; empty: all
  std::string to;
  std::optional<std::uint32_t> table;
  std::string input_netdev;
  std::string output_netdev;
  std::optional<std::uint32_t> mark;
  bool ipv6 = false;
  std::string action;  // "blackhole", "unreachable", "prohibit", "other"; empty: lookup
};

// Kinds of states of the kernel (NUD_*): an answer was received, no answer, and the fixed ones.
enum class NeighborKind : std::uint8_t { kResolved, kFailed, kPermanent, kNoArp };

struct NeighborInfo {
  std::uint32_t netdev_index = 0;
  std::string address;
  std::string mac;  // "52:54:00:00:00:01"; empty: none
  NeighborKind kind = NeighborKind::kResolved;
};

Result<std::vector<RouteInfo>> ParseRoutes(std::span<const std::byte> datagram);
Result<std::vector<RuleInfo>> ParseRules(std::span<const std::byte> datagram);
Result<std::vector<NeighborInfo>> ParseNeighbors(std::span<const std::byte> datagram);

}  // namespace fabric::host
