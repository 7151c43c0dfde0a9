#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/siblings.h"
#include "proto/ports.h"
#include "proto/routes.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// mtu_equal_on_rail

// On Ethernet the RDMA MTU follows the netdev MTU, which rdma_mtu_matches_netdev judges. On
// InfiniBand the netdev MTU is that of IPoIB and does not matter.
std::optional<Value> InfinibandMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!IsUp(port) || !IsInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}

std::optional<Value> EthernetMtu(const Member& member) {
  const auto mtu = NetdevMtu(*member.port);
  return mtu ? std::optional(Value{*mtu}) : std::nullopt;
}

// A device of a vendor's own network (EFA) is neither, and has no netdev.
bool IsEthernetUp(const Member& member) {
  return member.port->rail && IsUp(*member.port) &&
         member.port->port->link_layer() == v1::LINK_LAYER_ETHERNET;
}

std::optional<Value> ExpectedNetdevMtu(const v1::Expectations& expected) {
  if (!expected.has_netdev_mtu_bytes()) return {};
  return Value{expected.netdev_mtu_bytes()};
}

std::vector<v1::Remedy> SetEqualMtu(const Member& member, const Value& expected) {
  return {SetMtu(*member.port->netdev, expected.number)};
}

std::vector<v1::Remedy> CompareMtuCaps(const Member& member, const Value&) {
  return {QueryPortInfo(*member.port,
                        "The subnet manager sets the MTU from the MtuCap of both ends. Compare "
                        "MtuCap and NeighborMTU with a good port.")};
}

void AddRdmaMtu(const Member& member, const Member& good, std::vector<v1::Evidence>& evidence) {
  const PortView& port = *member.port;
  const v1::Port& seen = *port.port;
  const v1::Port& wanted = *good.port->port;
  if (!seen.has_active_mtu_bytes() || !wanted.has_active_mtu_bytes()) return;
  evidence.push_back(ToEvidence(*port.node, {.what = "active RDMA MTU",
                                             .expected = Format("{}", wanted.active_mtu_bytes()),
                                             .seen = Format("{}", seen.active_mtu_bytes()),
                                             .source = VerbsSource(port),
                                             .basis = "as " + PortName(*good.port)}));
}

constexpr EqualityRule kEqualMtu[] = {
    {.what = "netdev MTU",
     .value = EthernetMtu,
     .expected = ExpectedNetdevMtu,
     .kept_when_down = true,
     .source = [](const Member& member) { return NetdevFile(*member.port, "mtu"); },
     .remedies = SetEqualMtu,
     .more = AddRdmaMtu},
    {.what = "active RDMA MTU",
     .key = "infiniband",
     .value = InfinibandMtu,
     .source = [](const Member& member) { return VerbsSource(*member.port); },
     .remedies = CompareMtuCaps}};

// mtu_equal_in_node

// An MTU from 4096 on that is too small for an RDMA MTU of 4096 is a finding of
// rdma_mtu_matches_netdev.
std::optional<std::uint64_t> MtuOfCard(const PortView& port) {
  const auto mtu = NetdevMtu(port);
  if (!mtu || !port.rail || port.expected().has_netdev_mtu_bytes()) return {};
  if (*mtu >= 4096 && *mtu < 4096 + kRoceHeaderBytes) return {};
  return mtu;
}

constexpr Sibling kMtuOfCards = {
    .what = "netdev MTU",
    .value = MtuOfCard,
    .show = ShowNumber,
    .source = [](const PortView& port) { return NetdevFile(port, "mtu"); },
    .remedies = [](const PortView& port, std::uint64_t expected) -> std::vector<v1::Remedy> {
      return {SetMtu(*port.netdev, expected)};
    }};

// vlan_mtu_not_below_lower

// In the main table: others have default routes of rails.
bool CarriesDefaultRoute(const v1::NodeSnapshot& snapshot, const std::string& netdev) {
  constexpr std::uint32_t kMainTable = 254;
  return std::ranges::any_of(snapshot.ip_routes(), [&](const v1::IpRoute& route) {
    return route.netdev() == netdev && route.destination().ends_with("/0") &&
           (!route.has_table() || route.table() == kMainTable);
  });
}

// VLANs that carry RDMA of the port: those of its routable GIDs. A captured tree may not say that a
// netdev over the port is a VLAN. The VLAN of the default route is for management.
std::vector<const v1::NetInterface*> VlansOf(const PortView& port) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  std::vector<const v1::NetInterface*> vlans;
  for (const v1::Gid& gid : port.port->gids()) {
    const std::string& name = gid.netdev();
    if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local() || name == port.port->netdev())
      continue;
    const v1::NetInterface* const netdev = name.empty() ? nullptr : FindNetdev(snapshot, name);
    if (netdev == nullptr || netdev->has_bond() || CarriesDefaultRoute(snapshot, name)) continue;
    if (!netdev->has_vlan() && !IsOrIsAbove(snapshot, port.port->netdev(), name)) continue;
    if (std::ranges::find(vlans, netdev) == vlans.end()) vlans.push_back(netdev);
  }
  return vlans;
}

bool IsOverVlan(const Member& member) {
  return IsRoceInUse(member) && !VlansOf(*member.port).empty();
}

// Jobs choose the first GID that is routable.
bool IsOfJobs(const PortView& port, const v1::NetInterface& vlan) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && gid->netdev() == vlan.name();
}

void FailVlan(const PortView& port, const v1::NetInterface& vlan, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("MTU of {} {}, expected {} as of {}", vlan.name(), vlan.mtu_bytes(),
                  port.netdev->mtu_bytes(), port.netdev->name()),
           {ToEvidence(*port.node, {.what = "MTU of " + vlan.name(),
                                    .expected = Format("{}", port.netdev->mtu_bytes()),
                                    .seen = Format("{}", vlan.mtu_bytes()),
                                    .source = Format("sys/class/net/{}/mtu", vlan.name()),
                                    .basis = "MTU of " + port.netdev->name()})},
           {SetMtu(vlan, port.netdev->mtu_bytes())}, IsOfJobs(port, vlan) ? "" : vlan.name());
}

void JudgeVlans(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail || !IsRoce(port) || !NetdevMtu(port)) continue;
    for (const v1::NetInterface* const vlan : VlansOf(port)) {
      if (!vlan->has_mtu_bytes()) continue;
      if (RdmaMtuWithin(vlan->mtu_bytes()) < RdmaMtuWithin(port.netdev->mtu_bytes()))
        FailVlan(port, *vlan, out);
      else
        out.Pass();
    }
  }
}

}  // namespace

extern const Rule mtu_equal_on_rail = {
    .id = "mtu_equal_on_rail",
    .title =
        "All ports of a rail have the same MTU: netdev MTU on Ethernet, active MTU on InfiniBand",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Two ends with different MTUs use the smaller one at best. At worst the queue pair does "
        "not come up, or large packets are lost while small ones pass. Expected is the value of "
        "the profile, or of most ports of the rail. Without a majority the finding is about the "
        "rail.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu); InfiniBand specification, PathMTU",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kNetdevMtuBytesFieldNumber},
    .reads = {{.field = Field::kNetdevMtu, .applies = IsEthernetUp},
              {.field = Field::kActiveMtu, .applies = IsInfinibandLive}},
    .fix = "ip link set dev NETDEV mtu BYTES",
    .equality_rules = kEqualMtu,
};

extern const Rule mtu_equal_in_node = {
    .id = "mtu_equal_in_node",
    .title = "In a node judged alone, equal cards have the same netdev MTU",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs use all cards of a node in the same way. A card with a smaller MTU is slower than "
        "the others, and most likely differs from its peers on other nodes. Without other nodes, "
        "the rule needs at least four cards with one board id of which three quarters agree.",
    .source = "kernel include/rdma/ib_addr.h (iboe_get_mtu)",
    .needs = {Input::kNetInterfaces, Input::kRdmaDevices},
    .profile = {v1::Expectations::kNetdevMtuBytesFieldNumber},
    .fix = "ip link set dev NETDEV mtu BYTES",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeSiblings(kMtuOfCards, node, out); },
    .single_node_only = true,
};

extern const Rule vlan_mtu_not_below_lower = {
    .id = "vlan_mtu_not_below_lower",
    .title = "A VLAN that carries RDMA has the MTU of its lower netdev",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Connections over the VLAN use its MTU. With 1500 over 9000, RDMA packets carry 1024 "
        "bytes instead of 4096, although the port shows an active MTU of 4096.",
    .source = "kernel drivers/infiniband/core/cma.c (iboe_get_mtu of the netdev)",
    .needs = {Input::kNetInterfaces, Input::kBondsAndVlans, Input::kGids},
    .reads = {{.field = Field::kNetdevMtu, .applies = IsOverVlan}},
    .fix = "ip link set dev VLAN mtu BYTES",
    .evaluate_node = JudgeVlans,
};

}  // namespace fabric::rules
