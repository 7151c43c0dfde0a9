// Routes to the peers of a rail.
#include "proto/routes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/fleet/subnet.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;
using fleet::Subnet;

bool IsJudgedForRoutes(const PortView& port) {
  return port.rail && IsRoce(port) && IsUp(port);
}

// The IPv4 address and netdev that jobs use on the port; nullptr for IPv6 and without one.
const v1::Gid* Ipv4Gid(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && !gid->ipv4().empty() ? gid : nullptr;
}

const std::string& NetdevOfGid(const PortView& port, const v1::Gid& gid) {
  return gid.has_netdev() ? gid.netdev() : port.port->netdev();
}

// route_to_rail_peers

constexpr std::size_t kSubnetsMax = 64;  // Of a rail

std::optional<Value> RailSubnet(const Member& member) {
  const PortView& port = *member.port;
  if (!IsJudgedForRoutes(port) || !port.subnet) return {};
  return Value{std::uint64_t{port.subnet->bits} << 32 | port.subnet->network};
}

Subnet ToSubnet(std::uint64_t number) {
  return {.network = static_cast<std::uint32_t>(number),
          .bits = static_cast<std::uint32_t>(number >> 32)};
}

// Subnets that several nodes have on the rail. A wrong address of one node, which rail_subnet_equal
// reports, is neither a place to go to, nor is its port judged.
GroupSummary SubnetsOfRail(const ValueCounts& counts) {
  GroupSummary summary;
  for (const ValueCounts::Entry& entry : counts.values) {
    if (entry.members < 2 || summary.facts.size() == kSubnetsMax) continue;
    summary.facts.push_back(entry.value.number);
    summary.shown.push_back({.count = entry.members, .of = counts.members});
  }
  return summary;
}

// What happens to packets to the subnet; empty when they leave by the port.
std::string Detour(const PortView& port, const v1::Gid& gid, const std::string& subnet) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  const std::string& netdev = NetdevOfGid(port, gid);
  if (RouteOver(snapshot, netdev, gid.ipv4(), subnet) != nullptr) return {};
  const v1::IpRoute* const other = RouteFrom(snapshot, gid.ipv4(), subnet);
  return other == nullptr ? "no route" : "a route over " + other->netdev() + " only";
}

std::vector<v1::Remedy> AddRoute(const PortView& port, const v1::Gid& gid,
                                 const std::string& subnet) {
  const std::string& netdev = NetdevOfGid(port, gid);
  return {
      Query({.command = Format("ip route get {} from {} oif {}; ip rule; ip route show table all "
                               "dev {}",
                               subnet.substr(0, subnet.find('/')), gid.ipv4(), netdev, netdev),
             .note = "Shows which route the kernel takes."}),
      Advice(Format("Give {} a routing table with a route to {} over the gateway of its subnet, "
                    "and a rule for its address: 'ip rule add from {} table TABLE'. Set both in "
                    "the network configuration.",
                    netdev, subnet, gid.ipv4()))};
}

void JudgeRoutes(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  const v1::Gid* const gid = Ipv4Gid(port);
  if (gid == nullptr || !member.snapshot().routing().routes_known() ||
      HasOwnRoutes(member.snapshot(), NetdevOfGid(port, *gid)))
    return;
  const std::uint64_t own = RailSubnet(member)->number;
  if (std::find(summary.facts.begin(), summary.facts.end(), own) == summary.facts.end()) return;
  // Without rules, routes of another table are not known: only a route that is there counts.
  const bool rules = member.snapshot().routing().rules_known();
  for (std::size_t i = 0; i < summary.facts.size(); ++i) {
    const std::string subnet = ToString(ToSubnet(summary.facts[i]));
    const std::string detour = Detour(port, *gid, subnet);
    if (detour.empty()) continue;
    if (!rules)
      return out.Unknown(port.Subject(),
                         Format("route to {} is not known: IP rules could not be read", subnet),
                         {ToEvidence(*port.node, {.what = "IP rules",
                                                  .expected = "a value",
                                                  .seen = "not readable",
                                                  .source = "ip rule",
                                                  .basis = "rule"})});
    const std::string basis =
        Format("{} nodes on rail {} are there", ToText(summary.shown[i]), port.rail->value());
    return out.Fail(
        port.Subject(),
        Format("route to {} over {}: {}, expected one ({})", subnet, NetdevOfGid(port, *gid),
               detour, basis),
        {ToEvidence(*port.node, {.what = Format("route from {} to {}", gid->ipv4(), subnet),
                                 .expected = "over " + NetdevOfGid(port, *gid),
                                 .seen = detour,
                                 .source = "netlink routes",
                                 .basis = basis})},
        AddRoute(port, *gid, subnet));
  }
  out.Pass();
}

constexpr GroupRule kRoutesToPeers = {
    .group = ByRail, .value = RailSubnet, .summarize = SubnetsOfRail, .judge = JudgeRoutes};

// rail_gateway_answers

const v1::IpNeighbor* FindNeighbor(const v1::NodeSnapshot& snapshot, const std::string& netdev,
                                   const std::string& address) {
  for (const v1::IpNeighbor& neighbor : snapshot.ip_neighbors())
    if (neighbor.netdev() == netdev && neighbor.address() == address) return &neighbor;
  return nullptr;
}

// A gateway that was never asked is not in the table.
void JudgeGateway(const PortView& port, const v1::IpRoute& route, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  const v1::IpNeighbor* const neighbor = FindNeighbor(snapshot, route.netdev(), route.gateway());
  if (neighbor == nullptr) return;
  if (neighbor->state() != v1::NEIGHBOR_STATE_FAILED) return out.Pass();
  out.Fail(port.Subject(),
           Format("gateway {} of {} does not answer, expected a MAC address", route.gateway(),
                  route.netdev()),
           {ToEvidence(*port.node, {.what = "neighbor " + route.gateway(),
                                    .expected = "resolved",
                                    .seen = "failed",
                                    .source = "netlink neighbors",
                                    .basis = Format("route to {}", route.destination())})},
           {Query({.command = Format("ping -c 3 -I {} {}; ip neigh show dev {}", route.netdev(),
                                     route.gateway(), route.netdev()),
                   .note = "If it fails: check the VLAN and the address of the switch port, and "
                           "whether the gateway's address is right."})},
           route.gateway());
}

void JudgeGateways(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsJudgedForRoutes(port)) continue;
    const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
    if (gid == nullptr) continue;
    std::set<std::string> judged;
    for (const v1::IpRoute& route : node.node->snapshot.ip_routes())
      if (route.netdev() == NetdevOfGid(port, *gid) && route.has_gateway() &&
          judged.insert(route.gateway()).second)
        JudgeGateway(port, route, out);
  }
}

bool HasRocePorts(const Member& node) {
  return std::any_of(node.node->ports.begin(), node.node->ports.end(), [](const PortView& port) {
    return port.carries_roce && port.subnet.has_value();
  });
}

}  // namespace

extern const Rule route_to_rail_peers = {
    .id = "route_to_rail_peers",
    .title = "A RoCE port has a route to the subnets of its rail, over the port itself",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A queue pair uses the routes over the netdev of its GID only. Without one, it cannot be "
        "connected: 'Network is unreachable', or a timeout of address resolution. Sockets of "
        "RDMA-CM take the other port instead.",
    .source = "kernel drivers/infiniband/core/addr.c; github.com/NVIDIA/nccl-tests/issues/185",
    .needs = {Input::kRouting, Input::kGids},
    .reads = {{.field = Field::kRoutes, .applies = HasRocePorts}},
    .fix = "A routing table with a route and a rule for each port",
    .group_rule = &kRoutesToPeers,
};

extern const Rule rail_gateway_answers = {
    .id = "rail_gateway_answers",
    .title = "The gateways of a RoCE port answer",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why = "Peers in other subnets cannot be reached. Connections to them time out.",
    .source = "RFC 826, RFC 4861; man page ip-neighbour(8)",
    .needs = {Input::kRouting, Input::kGids},
    .reads = {{.field = Field::kRoutes, .applies = HasRocePorts}},
    .fix = "Check VLAN and address of the switch port",
    .evaluate_node = JudgeGateways,
};

}  // namespace fabric::rules
