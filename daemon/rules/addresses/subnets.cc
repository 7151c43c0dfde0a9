#include <algorithm>

#include "base/text.h"
#include "daemon/fleet/subnet.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

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

// The larger of the values for all netdevs and for this one, as in the kernel.
std::optional<std::uint32_t> Setting(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                                     std::string_view name) {
  std::optional<std::uint32_t> largest;
  std::string dotted(netdev);  // sysctl(8) writes a dot within a name as a slash.
  std::replace(dotted.begin(), dotted.end(), '.', '/');
  const std::string own = Format("net.ipv4.conf.{}.{}", dotted, name);
  const std::string all = Format("net.ipv4.conf.all.{}", name);
  for (const v1::Sysctl& sysctl : snapshot.host().sysctls()) {
    if (sysctl.name() != own && sysctl.name() != all) continue;
    const auto value = ParseNumber<std::uint32_t>(sysctl.value());
    if (value.ok()) largest = std::max(largest.value_or(0), *value);
  }
  return largest;
}

struct Arp {
  std::optional<std::uint32_t> ignore;
  std::optional<std::uint32_t> announce;

  bool Known() const { return ignore && announce; }
  bool Correct() const { return *ignore >= 1 && *announce >= 2; }
};

using PortsOfSubnet = std::vector<const PortView*>;

void FailArp(const PortsOfSubnet& ports, const Subnet& subnet, const Arp& arp, Verdicts& out) {
  std::vector<std::string> netdevs;
  for (const PortView* port : ports) netdevs.push_back(port->port->netdev());
  const std::string seen = Format("arp_ignore {}, arp_announce {}", *arp.ignore, *arp.announce);
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(ports[0]->node->name);
  out.Fail(
      std::move(subject),
      Format("{} are all in {} with {}, expected arp_ignore 1 and arp_announce 2", Listed(netdevs),
             ToString(subnet), seen),
      {ToEvidence(*ports[0]->node,
                  {.what = "ARP settings",
                   .expected = "arp_ignore 1, arp_announce 2",
                   .seen = seen,
                   .source = "proc/sys/net/ipv4/conf",
                   .basis = Format("{} RDMA ports in {}", ports.size(), ToString(subnet))})},
      {SetSysctl("net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 "
                 "net.ipv4.conf.all.rp_filter=2",
                 Format("net.ipv4.conf.all.arp_ignore={} net.ipv4.conf.all.arp_announce={}",
                        *arp.ignore, *arp.announce),
                 "Affects all netdevs of the node. Each port also needs its own routing table, "
                 "with a rule for its address (ip rule). rp_filter has no recorded former value: "
                 "read it before."),
       Advice("Alternative: one subnet for each rail, which needs no ARP settings.")},
      ToString(subnet));
}

void JudgeArp(const PortsOfSubnet& ports, const Subnet& subnet, Verdicts& out) {
  for (const PortView* port : ports) {
    const v1::NodeSnapshot& snapshot = port->node->snapshot;
    const Arp arp = {.ignore = Setting(snapshot, port->port->netdev(), "arp_ignore"),
                     .announce = Setting(snapshot, port->port->netdev(), "arp_announce")};
    if (!arp.Known()) return;  // Gaps of host_limits show the reason.
    if (!arp.Correct()) return FailArp(ports, subnet, arp, out);
  }
  out.Pass();
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
// netdev.
void JudgeMember(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const Subnet subnet = *JudgedSubnet(*member.port);
  PortsOfSubnet ports;
  for (const PortView& port : member.node->ports) {
    if (JudgedSubnet(port) != subnet) continue;
    const bool again = std::any_of(ports.begin(), ports.end(), [&](const PortView* other) {
      return other->netdev == port.netdev;
    });
    if (!again) ports.push_back(&port);
  }
  if (ports[0] != member.port) return;
  if (ports.size() == 1)
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
        "traffic of eight ports leaves by one, and connections time out. One subnet for each rail "
        "avoids this. Otherwise configure ARP and routing.",
    .source = "kernel Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce, rp_filter)",
    .needs = {Input::kNetInterfaces, Input::kHostLimits},
    .reads = {{.field = Field::kSysctls}},
    .fix = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
    .group_rule = &kArp,
};

}  // namespace fabric::rules
