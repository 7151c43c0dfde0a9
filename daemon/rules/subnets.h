// IPv4 networks of ports.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

struct Subnet {
  std::uint32_t network = 0;  // Host order, host part zero
  std::uint32_t bits = 0;     // Of the prefix
  friend auto operator<=>(const Subnet&, const Subnet&) = default;
};

// "10.10.0.1/24". Nothing for IPv6, for what is no address, for point-to-point (/31, /32) and for
// link-local networks, which say nothing about who is connected with whom.
std::optional<Subnet> ParseSubnet(std::string_view address);
std::string ToString(const Subnet& subnet);  // "10.10.0.0/24"

// The first of the port's netdev. Known on live machines only.
std::optional<Subnet> SubnetOf(const fleet::PortView& port);

// The subnet that more than half of at least three RoCE ports of a rail have.
struct UsualSubnet {
  Subnet subnet;
  std::size_t ports = 0;  // That have it
  std::size_t all = 0;
};
// By rail.
std::vector<std::optional<UsualSubnet>> UsualSubnets(const fleet::FleetView& fleet);

// Of a RoCE port of the fabric that is up; nothing else is compared.
std::optional<Subnet> JudgedSubnet(const fleet::PortView& port);

// A node that is elsewhere in all its rails belongs to another part of a routed fabric. One that
// is as the others in some rails and not in one has a wrong address there.
bool IsOfThisFabric(const fleet::NodeView& node,
                    const std::vector<std::optional<UsualSubnet>>& usual);

}  // namespace fabric::rules
