// Netdevs and VLANs of GIDs.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"
#include "proto/routes.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsJudgedForNetdevs(const PortView& port) {
  return port.rail && IsRoce(port) && IsUp(port);
}

// gid_netdev_of_port

// A netdev over the port: a VLAN, bond or bridge.
bool IsOverPort(const PortView& port, const std::string& netdev) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  if (IsOrIsAbove(snapshot, port.port->netdev(), netdev)) return true;
  const v1::NetInterface* const found = FindNetdev(snapshot, netdev);
  if (found == nullptr || found->has_bond()) return true;
  const std::string& lower = found->vlan().lower();
  return found->has_vlan() && (lower.empty() || IsOrIsAbove(snapshot, port.port->netdev(), lower));
}

void JudgeNetdevs(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsJudgedForNetdevs(port) || port.netdev == nullptr) continue;
    const auto& gids = port.port->gids();
    const auto other = std::find_if(gids.begin(), gids.end(), [&](const v1::Gid& gid) {
      return gid.has_netdev() && !gid.link_local() && !IsOverPort(port, gid.netdev());
    });
    if (other == gids.end()) {
      out.Pass();
      continue;
    }
    const std::string& address = other->ipv4().empty() ? other->gid() : other->ipv4();
    out.Fail(port.Subject(),
             Format("GID {} ({}) belongs to {}, expected {} or a netdev over it", other->index(),
                    address, other->netdev(), port.port->netdev()),
             {ToEvidence(*port.node,
                         {.what = Format("netdev of GID {}", other->index()),
                          .expected = port.port->netdev(),
                          .seen = other->netdev(),
                          .source = PortFile(port, Format("gid_attrs/ndevs/{}", other->index())),
                          .basis = "netdev of the port"})},
             {Query({.command = Format("ip -d link show dev {}; ip address show dev {}",
                                       other->netdev(), other->netdev()),
                     .note = "A macvlan, or an address on the wrong netdev. Jobs that choose this "
                             "GID send over the port with the address of another netdev."})});
  }
}

// roce_vlan_equal_on_rail

constexpr std::uint64_t kUntagged = 0;

std::optional<Value> VlanOfRoce(const Member& member) {
  const PortView& port = *member.port;
  if (!IsJudgedForNetdevs(port) || port.expected().has_vlan_id()) return {};
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr || !gid->has_netdev()) return {};
  const v1::NetInterface* const netdev = FindNetdev(member.snapshot(), gid->netdev());
  if (netdev == nullptr) return {};
  return Value{netdev->has_vlan() ? netdev->vlan().id() : kUntagged};
}

std::string ShowVlan(const Value& value) {
  return value.number == kUntagged ? "none" : Format("{}", value.number);
}

std::string VlanSource(const Member& member) {
  return "netlink route " + member.port->port->netdev();
}

std::vector<v1::Remedy> MoveAddress(const Member& member, const Value& expected) {
  return {Advice(Format(
      "Move the RoCE address of {} to {} in the network configuration of the "
      "node. Jobs on the node lose their connections: drain it first.",
      member.port->port->netdev(),
      expected.number == kUntagged ? "the netdev without VLAN" : "VLAN " + ShowVlan(expected)))};
}

constexpr EqualityRule kVlan[] = {{.what = "VLAN of the RoCE address",
                                   .group = ByRailAndModel,
                                   .value = VlanOfRoce,
                                   .show = ShowVlan,
                                   .source = VlanSource,
                                   .remedies = MoveAddress}};

}  // namespace

extern const Rule gid_netdev_of_port = {
    .id = "gid_netdev_of_port",
    .title = "The GIDs of a RoCE port belong to its netdev, or to a VLAN or bond over it",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A GID of another netdev, such as a macvlan of a container, is an address that peers do "
        "not expect on this port. Libraries that choose by type can pick it.",
    .source = "kernel drivers/infiniband/core/roce_gid_mgmt.c",
    .needs = {Input::kGids, Input::kNetInterfaces},
    .reads = {{.field = Field::kGids, .applies = IsRoceInUse}},
    .fix = "Remove the address, or the netdev over the port",
    .evaluate_node = JudgeNetdevs,
};

extern const Rule roce_vlan_equal_on_rail = {
    .id = "roce_vlan_equal_on_rail",
    .title = "Ports of one model on a rail have their RoCE address in the same VLAN",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports in different VLANs reach each other only through a router, or not at all, and the "
        "priority of frames without a tag differs.",
    .source = "IEEE 802.1Q; kernel drivers/infiniband/core/roce_gid_mgmt.c",
    .needs = {Input::kGids, Input::kNetInterfaces},
    .profile = {v1::Expectations::kVlanIdFieldNumber},
    .reads = {{.field = Field::kGids, .applies = IsRoceInUse}},
    .fix = "Move the RoCE address to the VLAN of the other nodes",
    .equality_rules = kVlan,
};

}  // namespace fabric::rules
