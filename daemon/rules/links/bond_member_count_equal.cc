#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Of the bond that carries the RDMA port. A member without a link is still a member.
std::optional<Value> MemberCount(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail || !IsUp(port) || port.netdev == nullptr || !port.netdev->has_bond()) return {};
  return Value{static_cast<std::uint64_t>(port.netdev->bond().members_size())};
}

std::vector<v1::Remedy> ShowBond(const Member& member, const Value&) {
  const std::string& bond = member.port->port->netdev();
  return {Query({.command = Format("cat /proc/net/bonding/{0}; ip -d link show master {0}", bond),
                 .note = "Shows the members. A netdev that is missing was taken out of the bond, "
                         "has another name, or its card is gone."})};
}

constexpr EqualityRule kMemberCounts[] = {
    {.what = "number of bond members",
     .group = ByRailAndProduct,
     .value = MemberCount,
     .show = [](const Value& value) { return Format("{}", value.number); },
     .source =
         [](const Member& member) {
           return Format("sys/class/net/{}/bonding/slaves", member.port->port->netdev());
         },
     .remedies = ShowBond}};

}  // namespace

extern const Rule bond_member_count_equal = {
    .id = "bond_member_count_equal",
    .title = "The bond of a rail has the same number of members on equal nodes",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A bond with one member of two stays up with half of the bandwidth and without "
        "redundancy. No port is down: the other netdev is not in the bond.",
    .source = "kernel Documentation/networking/bonding.rst (slaves)",
    .needs = {Input::kBondsAndVlans},
    .reads = {{.field = Field::kBondMembers, .applies = IsRoceInUse}},
    .fix = "Add the missing netdev to the bond in the network configuration",
    .equality_rules = kMemberCounts,
};

}  // namespace fabric::rules
