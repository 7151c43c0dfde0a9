// Routes to the peers of a rail.
#include "proto/routes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/fleet/subnet.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;
using fleet::Subnet;

bool IsJudgedForRoutes(const PortView& port) {
  return port.rail && IsRoce(port) && IsUp(port);
}

// The address that jobs use on the port: IPv4 before IPv6. Empty without one.
std::string_view AddressOf(const v1::Gid& gid) {
  return gid.ipv4().empty() ? gid.ipv6() : gid.ipv4();
}
const v1::Gid* AddressGid(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr && !AddressOf(*gid).empty() ? gid : nullptr;
}

const std::string& NetdevOfGid(const PortView& port, const v1::Gid& gid) {
  return gid.has_netdev() ? gid.netdev() : port.port->netdev();
}

// route_to_rail_peers

constexpr std::size_t kSubnetsMax = 64;  // Of a rail
constexpr std::uint32_t kIpv6Bits = 64;  // Length of the prefix of a subnet, RFC 4291

// The first 64 bits of an IPv6 address, if its netdev has it with a prefix of 64 bits. Others are
// not judged.
std::optional<std::uint64_t> Ipv6Subnet(const PortView& port, const v1::Gid& gid) {
  const v1::NetInterface* const netdev = FindNetdev(port.node->snapshot, NetdevOfGid(port, gid));
  const auto own = ParseIpPrefix(gid.ipv6());
  if (netdev == nullptr || !own) return {};
  for (const std::string& text : netdev->addresses()) {
    const std::size_t slash = text.find('/');
    const auto address = ParseIpPrefix(text.substr(0, slash));
    if (slash == std::string::npos || !address || address->bytes != own->bytes) continue;
    if (text.substr(slash + 1) != "64") return {};
    std::uint64_t network = 0;
    for (const char byte : address->bytes.substr(0, 8))
      network = network << 8 | static_cast<unsigned char>(byte);
    return network;
  }
  return {};
}

// IPv4: the prefix and its length, below 2^38. IPv6: the prefix, which begins with other bits than
// 0 in all addresses that are assigned.
bool IsIpv6(std::uint64_t subnet) {
  return subnet >> 38 != 0;
}

std::optional<Value> RailSubnet(const Member& member) {
  const PortView& port = *member.port;
  if (!IsJudgedForRoutes(port)) return {};
  if (port.subnet) return Value{std::uint64_t{port.subnet->bits} << 32 | port.subnet->network};
  const v1::Gid* const gid = AddressGid(port);
  if (gid == nullptr || !gid->ipv4().empty()) return {};
  const auto subnet = Ipv6Subnet(port, *gid);
  return subnet && IsIpv6(*subnet) ? std::optional(Value{*subnet}) : std::nullopt;
}

std::string ToSubnetText(std::uint64_t number) {
  if (!IsIpv6(number))
    return ToString(Subnet{.network = static_cast<std::uint32_t>(number),
                           .bits = static_cast<std::uint32_t>(number >> 32)});
  return Format("{:x}:{:x}:{:x}:{:x}::/{}", number >> 48, number >> 32 & 0xffff,
                number >> 16 & 0xffff, number & 0xffff, kIpv6Bits);
}

// Subnets that several nodes have on the rail, by value: an order by the number of members would
// change with each link, and all members of the rail would be judged again. A wrong address of one
// node, which rail_subnet_equal reports, is neither a place to go to, nor is its port judged.
GroupSummary SubnetsOfRail(const ValueCounts& counts) {
  std::vector<const ValueCounts::Entry*> subnets;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.members >= 2) subnets.push_back(&entry);
  const auto by_value = [](const ValueCounts::Entry* entry) { return entry->value.number; };
  std::ranges::sort(subnets, {}, by_value);
  if (subnets.size() > kSubnetsMax) subnets.resize(kSubnetsMax);
  GroupSummary summary;
  for (const ValueCounts::Entry* const subnet : subnets) {
    summary.facts.push_back(subnet->value.number);
    summary.shown.push_back({.count = subnet->members, .of = counts.members});
  }
  return summary;
}

// What happens to packets to the subnet; empty when they leave by the port.
std::string Detour(const PortView& port, const v1::Gid& gid, const std::string& subnet) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  const std::string& netdev = NetdevOfGid(port, gid);
  if (RouteOver(snapshot, netdev, AddressOf(gid), subnet) != nullptr) return {};
  const v1::IpRoute* const other = RouteFrom(snapshot, AddressOf(gid), subnet);
  return other == nullptr ? "no route" : "a route over " + other->netdev() + " only";
}

std::vector<v1::Remedy> AddRoute(const PortView& port, const v1::Gid& gid,
                                 const std::string& subnet) {
  const std::string& netdev = NetdevOfGid(port, gid);
  const std::string_view ip = gid.ipv4().empty() ? "ip -6" : "ip";
  return {
      Query({.command = Format("{0} route get {1} from {2} oif {3}; {0} rule; {0} route show table "
                               "all dev {3}",
                               ip, subnet.substr(0, subnet.find('/')), AddressOf(gid), netdev),
             .note = "Shows which route the kernel takes."}),
      Advice(Format("Give {} a routing table with a route to {} over the gateway of its subnet, "
                    "and a rule for its address: '{} rule add from {} table TABLE'. Set both in "
                    "the network configuration.",
                    netdev, subnet, ip, AddressOf(gid)))};
}

// The subnet of another port of the node: that of another rail. Peers that have it on this rail
// have a wrong address, or their cards are in other slots.
bool IsOfAnotherPort(const Member& member, std::uint64_t subnet) {
  return std::ranges::any_of(member.node->ports, [&](const PortView& other) {
    const auto own = RailSubnet({.node = member.node, .port = &other});
    return &other != member.port && own && own->number == subnet;
  });
}

void JudgeRoutes(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  const v1::Gid* const gid = AddressGid(port);
  if (gid == nullptr || !member.snapshot().routing().routes_known() ||
      HasOwnRoutes(member.snapshot(), NetdevOfGid(port, *gid)))
    return;
  const std::uint64_t own = RailSubnet(member)->number;
  if (IsIpv6(own) != gid->ipv4().empty()) return;
  if (std::find(summary.facts.begin(), summary.facts.end(), own) == summary.facts.end()) return;
  // Without rules, routes of another table are not known: only a route that is there counts.
  const bool rules = member.snapshot().routing().rules_known();
  for (std::size_t i = 0; i < summary.facts.size(); ++i) {
    if (IsIpv6(summary.facts[i]) != gid->ipv4().empty()) continue;
    const std::string subnet = ToSubnetText(summary.facts[i]);
    const std::string detour = Detour(port, *gid, subnet);
    if (detour.empty() || IsOfAnotherPort(member, summary.facts[i])) continue;
    if (!rules)
      return out.Unknown(port.Subject(),
                         Format("route to {} is not known: IP rules could not be read", subnet),
                         {ToEvidence(*port.node, {.what = "IP rules",
                                                  .expected = "a value",
                                                  .seen = "not readable",
                                                  .source = "ip rule",
                                                  .basis = "rule",
                                                  .unread = true})});
    const std::string basis =
        Format("{} nodes on rail {} are there", ToText(summary.shown[i]), port.rail->value());
    return out.Fail(
        port.Subject(),
        Format("route to {} over {}: {}, expected one ({})", subnet, NetdevOfGid(port, *gid),
               detour, basis),
        {ToEvidence(*port.node, {.what = Format("route from {} to {}", AddressOf(*gid), subnet),
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
    return port.carries_roce && (port.subnet || AddressGid(port) != nullptr);
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
