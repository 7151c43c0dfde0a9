// IPv4 networks of ports.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/subnet.h"
#include "daemon/rules/group_rule.h"

namespace fabric::rules {

using fleet::ParseSubnet;
using fleet::Subnet;

// Of a RoCE port of the fabric that is up; nothing else is compared.
std::optional<Subnet> JudgedSubnet(const fleet::PortView& port);

// For a census by rail whose members are told of all rails: which subnet more than half of at least
// three ports of the rail have.
std::optional<Value> SubnetOnRail(const Member& port);
GroupSummary UsualSubnetOfRail(const ValueCounts& counts);  // Of the largest camp
struct UsualSubnet {
  Subnet subnet;
  GroupSummary::Shown ports;
};
std::optional<UsualSubnet> UsualOn(const GroupSummary& summary, Rail rail);
// A node that is elsewhere in all its rails belongs to another part of a routed fabric. One that
// is as the others in some rails and not in one has a wrong address there.
bool IsOfThisFabric(const fleet::NodeView& node, const GroupSummary& summary);

}  // namespace fabric::rules
