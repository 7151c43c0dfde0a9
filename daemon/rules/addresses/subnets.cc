#include <algorithm>

#include "base/text.h"
#include "daemon/fleet/subnet.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"
#include "proto/routes.h"

namespace fabric::rules {
namespace {

using fleet::PortView;
using fleet::Subnet;

// A subnet on a rail as one number.
constexpr unsigned kRailShift = 40;
constexpr std::uint64_t kSubnetMask = (std::uint64_t{1} << kRailShift) - 1;

std::uint64_t ToNumber(const Subnet& subnet) {
  return std::uint64_t{subnet.bits} << 32 | subnet.network;
}

Subnet SubnetIn(std::uint64_t number) {
  return {.network = static_cast<std::uint32_t>(number),
          .bits = static_cast<std::uint32_t>((number & kSubnetMask) >> 32)};
}

// Of a RoCE port of the fabric that is up. Others are not compared.
std::optional<Subnet> JudgedSubnet(const PortView& port) {
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  return port.subnet;
}

std::optional<Value> SubnetOnRail(const Member& port) {
  const auto subnet = JudgedSubnet(*port.port);
  if (!subnet) return {};
  return Value{std::uint64_t{port.port->rail->value()} << kRailShift | ToNumber(*subnet)};
}

// The subnet that more than half of at least three ports of the rail have.
GroupSummary UsualSubnetOfRail(const ValueCounts& counts) {
  if (counts.values.empty()) return {};
  const ValueCounts::Entry& entry = counts.values[0];
  if (counts.members < 3 || 2 * entry.members <= counts.members) return {};
  return {.facts = {entry.value.number}, .shown = {{.count = entry.members, .of = counts.members}}};
}

struct UsualSubnet {
  Subnet subnet;
  GroupSummary::Shown ports;
};

std::optional<UsualSubnet> UsualOn(const GroupSummary& summary, Rail rail) {
  for (std::size_t i = 0; i < summary.facts.size(); ++i)
    if (summary.facts[i] >> kRailShift == rail.value())
      return UsualSubnet{.subnet = SubnetIn(summary.facts[i]), .ports = summary.shown[i]};
  return {};
}

// A node that differs in all its rails belongs to another part of a routed fabric. A node that
// differs in some rails has a wrong address there.
bool IsOfThisFabric(const fleet::NodeView& node, const GroupSummary& summary) {
  for (const PortView& port : node.ports) {
    const auto subnet = JudgedSubnet(port);
    if (!subnet) continue;
    for (const std::uint64_t usual : summary.facts)
      if ((usual & kSubnetMask) == ToNumber(*subnet)) return true;
  }
  return false;
}

// rail_subnet_equal

void FailSubnet(const PortView& port, const Subnet& seen, const UsualSubnet& usual, Verdicts& out) {
  const std::string basis = Format("{} nodes on rail {}", ToText(usual.ports), port.rail->value());
  out.Fail(port.Subject(),
           Format("subnet {}, expected {} ({})", ToString(seen), ToString(usual.subnet), basis),
           {ToEvidence(*port.node, {.what = "subnet of " + port.port->netdev(),
                                    .expected = ToString(usual.subnet),
                                    .seen = ToString(seen),
                                    .source = "rtnetlink " + port.port->netdev(),
                                    .basis = basis})},
           {Advice(Format("Check first whether the cards of the node are in their slots and the "
                          "cables in the right ports: if a card is missing or two ports have each "
                          "other's subnet, the address is right. If the address is wrong, give {} "
                          "an address in {} and remove the one in {}.",
                          port.port->netdev(), ToString(usual.subnet), ToString(seen)))});
}

void JudgeRailSubnet(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  const auto usual = UsualOn(summary, *port.rail);
  if (!usual) return;
  const Subnet seen = *JudgedSubnet(port);
  if (seen == usual->subnet) return out.Pass();
  if (IsOfThisFabric(*member.node, summary) || port.expected().subnet_per_rail())
    FailSubnet(port, seen, *usual, out);
}

// Each member sees the summaries of all rails.
constexpr GroupRule OfAllRails(void (*judge)(const Member&, const GroupSummary&, Verdicts&)) {
  return {.value = SubnetOnRail,
          .majority_only = true,
          .of_all_groups = true,
          .summarize = UsualSubnetOfRail,
          .judge = judge};
}

constexpr GroupRule kRailSubnet = OfAllRails(JudgeRailSubnet);

// ports_of_node_in_own_subnets

std::optional<std::uint32_t> SysctlOf(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                                      std::string_view setting) {
  std::string dotted(netdev);  // sysctl(8) writes a dot within a name as a slash.
  std::replace(dotted.begin(), dotted.end(), '.', '/');
  const std::string name = Format("net.ipv4.conf.{}.{}", dotted, setting);
  for (const v1::Sysctl& sysctl : snapshot.host().sysctls()) {
    if (sysctl.name() != name) continue;
    const auto value = ParseNumber<std::uint32_t>(sysctl.value());
    if (value.ok()) return *value;
  }
  return {};
}

// The larger of the values for all netdevs and for this one, as in the kernel.
std::optional<std::uint32_t> SettingOf(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                                       std::string_view setting) {
  const auto own = SysctlOf(snapshot, netdev, setting);
  const auto all = SysctlOf(snapshot, "all", setting);
  return own && all ? std::max(own, all) : own ? own : all;
}

// Whether IP rules send packets from the address of the port to its subnet over the port, by a
// routing table of its own. Table main does not count: it has one route of the subnet for each
// port, and the kernel takes the first one. Empty: routes or rules are not known.
std::optional<bool> HasOwnTable(const PortView& port, const Subnet& subnet) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  if (!snapshot.routing().routes_known() || !snapshot.routing().rules_known()) return {};
  const v1::NetInterface* const netdev = FindNetdev(snapshot, port.port->netdev());
  if (netdev == nullptr) return {};
  for (const std::string& address : netdev->addresses()) {
    if (fleet::ParseSubnet(address) != subnet) continue;
    const v1::IpRoute* const route =
        RouteFrom(snapshot, address.substr(0, address.find('/')), ToString(subnet));
    return route != nullptr && route->netdev() == port.port->netdev() &&
           route != MainRouteTo(snapshot, ToString(subnet));
  }
  return {};
}

enum class Answer : std::uint8_t { kNo, kYes, kUnknown };

Answer Of(std::optional<bool> known) {
  return !known ? Answer::kUnknown : *known ? Answer::kYes : Answer::kNo;
}

Answer And(Answer a, Answer b) {
  if (a == Answer::kNo || b == Answer::kNo) return Answer::kNo;
  return a == Answer::kYes ? b : a;
}

// Settings of a port that shares its subnet with other ports of the node.
struct Arp {
  std::optional<std::uint32_t> ignore;
  std::optional<std::uint32_t> announce;
  std::optional<std::uint32_t> filter;
  std::optional<std::uint32_t> reverse_path;
  std::optional<bool> own_table;

  // The port answers ARP requests for addresses of other ports. With arp_filter it answers only if
  // packets from that address leave by it, which needs a table of its own.
  Answer AnswersForOthers() const {
    if (!ignore) return Answer::kUnknown;
    if (*ignore >= 1) return Answer::kNo;
    if (filter && *filter == 0) return Answer::kYes;
    return filter || own_table == false ? WithoutTable() : Answer::kUnknown;
  }
  // ARP requests of the port have the address of another port, because IP packets from that
  // address leave by it.
  Answer AnnouncesOthers() const {
    return And(Of(announce ? std::optional(*announce < 2) : std::nullopt), WithoutTable());
  }
  // Strict reverse path filter: the port drops ARP requests, because the way back is another port.
  Answer DropsRequests() const {
    constexpr std::uint32_t kStrict = 1;
    return And(Of(reverse_path ? std::optional(*reverse_path == kStrict) : std::nullopt),
               WithoutTable());
  }

 private:
  Answer WithoutTable() const { return own_table ? Of(!*own_table) : Answer::kUnknown; }
};

Arp ArpOf(const PortView& port, const Subnet& subnet) {
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  const std::string& netdev = port.port->netdev();
  return {.ignore = SettingOf(snapshot, netdev, "arp_ignore"),
          .announce = SettingOf(snapshot, netdev, "arp_announce"),
          .filter = SettingOf(snapshot, netdev, "arp_filter"),
          .reverse_path = SettingOf(snapshot, netdev, "rp_filter"),
          .own_table = HasOwnTable(port, subnet)};
}

using PortsOfSubnet = std::vector<const PortView*>;

struct ArpFault {
  std::string seen;
  std::string expected;
};

std::optional<ArpFault> FaultOf(const PortView& port, const Arp& arp) {
  const std::string& netdev = port.port->netdev();
  const bool answers = arp.AnswersForOthers() == Answer::kYes;
  if (answers || arp.AnnouncesOthers() == Answer::kYes)
    return ArpFault{
        .seen = Format(
            "arp_ignore {}, arp_announce {}{}", arp.ignore ? Format("{}", *arp.ignore) : "-",
            arp.announce ? Format("{}", *arp.announce) : "-",
            arp.filter.value_or(0) == 0 ? "" : ", arp_filter 1 and no IP rule for " + netdev),
        .expected = "arp_ignore 1 and arp_announce 2"};
  if (arp.DropsRequests() == Answer::kYes)
    return ArpFault{.seen = Format("rp_filter 1 and no IP rule for {}", netdev),
                    .expected = "rp_filter 2, or a routing table for each port"};
  return {};
}

bool IsUnknown(const Arp& arp) {
  return arp.AnswersForOthers() == Answer::kUnknown || arp.AnnouncesOthers() == Answer::kUnknown ||
         arp.DropsRequests() == Answer::kUnknown;
}

v1::Remedy CorrectArp(const v1::NodeSnapshot& snapshot) {
  std::string now;
  for (const char* setting : {"arp_ignore", "arp_announce", "rp_filter"}) {
    const auto value = SysctlOf(snapshot, "all", setting);
    if (value) now += Format("{}net.ipv4.conf.all.{}={}", now.empty() ? "" : " ", setting, *value);
  }
  return SetSysctl(
      "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "
      "net.ipv4.conf.all.rp_filter=2",
      now,
      "Affects all netdevs of the node. IP traffic of the ports also needs a routing table for "
      "each "
      "port, with a rule for its address (ip rule).");
}

v1::Subject NodeOf(const PortsOfSubnet& ports) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(ports[0]->node->name);
  return subject;
}

void FailArp(const PortsOfSubnet& ports, const Subnet& subnet, const ArpFault& fault,
             Verdicts& out) {
  std::vector<std::string> netdevs;
  for (const PortView* port : ports) netdevs.push_back(port->port->netdev());
  out.Fail(NodeOf(ports),
           Format("{} are all in {} with {}, expected {}", Listed(netdevs), ToString(subnet),
                  fault.seen, fault.expected),
           {ToEvidence(*ports[0]->node,
                       {.what = "ARP settings",
                        .expected = fault.expected,
                        .seen = fault.seen,
                        .source = "proc/sys/net/ipv4/conf",
                        .basis = Format("{} RDMA ports in {}", ports.size(), ToString(subnet))})},
           {CorrectArp(ports[0]->node->snapshot),
            Advice("Alternative: one subnet for each rail, which needs no ARP settings.")},
           ToString(subnet));
}

// The first port with a fault is reported.
void JudgeArp(const PortsOfSubnet& ports, const Subnet& subnet, Verdicts& out) {
  const PortView* unknown = nullptr;
  for (const PortView* port : ports) {
    const Arp arp = ArpOf(*port, subnet);
    if (const auto fault = FaultOf(*port, arp)) return FailArp(ports, subnet, *fault, out);
    if (IsUnknown(arp) && unknown == nullptr) unknown = port;
  }
  if (unknown == nullptr) return out.Pass();
  const std::string& netdev = unknown->port->netdev();
  out.Unknown(
      NodeOf(ports),
      Format("whether {} answers ARP correctly is not known: a setting or the IP rules are missing",
             netdev),
      {ToEvidence(*unknown->node, {.what = "ARP settings and IP rules of " + netdev,
                                   .expected = "a value",
                                   .seen = "not known",
                                   .source = "proc/sys/net/ipv4/conf, ip rule",
                                   .basis = "rule",
                                   .unread = true})},
      ToString(subnet));
}

// A port is not in the subnet of its rail. rail_subnet_equal reports it, and that it shares a
// subnet with another port of the node follows from it.
bool AnyInWrongSubnet(const PortsOfSubnet& ports, const Subnet& subnet, const fleet::NodeView& node,
                      const GroupSummary& summary) {
  const bool here = IsOfThisFabric(node, summary);
  return std::any_of(ports.begin(), ports.end(), [&](const PortView* port) {
    const auto usual = UsualOn(summary, *port->rail);
    return usual && usual->subnet != subnet && (here || port->expected().subnet_per_rail());
  });
}

// Judges each subnet of a node once, with its first port. Ports of a bond have one address and one
// netdev. A VRF has routes of its own.
void JudgeMember(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const Subnet subnet = *JudgedSubnet(*member.port);
  PortsOfSubnet ports;
  for (const PortView& port : member.node->ports) {
    if (JudgedSubnet(port) != subnet) continue;
    if (&port != member.port && HasOwnRoutes(port.node->snapshot, port.port->netdev())) continue;
    const bool again = std::any_of(ports.begin(), ports.end(), [&](const PortView* other) {
      return other->netdev == port.netdev;
    });
    if (!again) ports.push_back(&port);
  }
  if (ports[0] != member.port) return;
  if (ports.size() == 1 || HasOwnRoutes(member.snapshot(), member.port->port->netdev()))
    out.Pass();
  else if (!AnyInWrongSubnet(ports, subnet, *member.node, summary))
    JudgeArp(ports, subnet, out);
}

constexpr GroupRule kArp = OfAllRails(JudgeMember);

}  // namespace

extern const Rule rail_subnet_equal = {
    .id = "rail_subnet_equal",
    .title = "Ports of a rail are in one IPv4 subnet, if the fabric has a subnet for each rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port with an address of another rail, or with a wrong prefix length, cannot reach its "
        "peers, or reaches them through a router. A node that differs in all rails counts as "
        "another part of a routed fabric, unless the profile sets subnet_per_rail.",
    .source = "rail-optimised designs of vendors: one subnet for each rail",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kSubnetPerRailFieldNumber},
    .reads = {{.field = Field::kAddresses, .applies = IsRoceInUse}},
    .fix = "Check cards and cables; else give the port an address of the rail's subnet",
    .group_rule = &kRailSubnet,
};

extern const Rule ports_of_node_in_own_subnets = {
    .id = "ports_of_node_in_own_subnets",
    .title = "RoCE ports of a node that share a subnet answer ARP for their own address only",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "By default Linux answers ARP for any of its addresses on any port, and sends by the "
        "first route. With several ports in one subnet, peers learn the wrong MAC address, "
        "traffic of eight ports leaves by one, and connections time out. With rp_filter 1, all "
        "ports but one answer no ARP request. One subnet for each rail avoids this. Otherwise set "
        "arp_ignore 1, arp_announce 2 and rp_filter 2, or give each port a routing table and set "
        "arp_filter 1.",
    .source = "kernel Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce, rp_filter)",
    .needs = {Input::kNetInterfaces, Input::kHostLimits, Input::kRouting},
    .reads = {{.field = Field::kSysctls}},
    .fix = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
    .group_rule = &kArp,
};

}  // namespace fabric::rules
