// IPv4 networks of ports.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/rules/census.h"

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
// Of a RoCE port of the fabric that is up; nothing else is compared.
std::optional<Subnet> JudgedSubnet(const fleet::PortView& port);

// For a census of all rails together: which subnet more than half of at least three ports of each
// rail have.
std::optional<Value> SubnetOnRail(const Member& port);
Survey UsualSubnets(const Tally& tally);
struct UsualSubnet {
  Subnet subnet;
  Survey::Shown ports;
};
std::optional<UsualSubnet> UsualOn(const Survey& survey, Rail rail);
// A node that is elsewhere in all its rails belongs to another part of a routed fabric. One that
// is as the others in some rails and not in one has a wrong address there.
bool IsOfThisFabric(const fleet::NodeView& node, const Survey& survey);

}  // namespace fabric::rules
