#include <algorithm>

#include "base/text.h"
#include "daemon/rules/addresses/subnets.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The larger of the setting for all netdevs and that for one, as the kernel takes it.
std::optional<std::uint32_t> Setting(const v1::NodeSnapshot& snapshot, std::string_view netdev,
                                     std::string_view name) {
  std::optional<std::uint32_t> most;
  std::string dotted(netdev);  // sysctl(8) writes a dot within a name as a slash.
  std::replace(dotted.begin(), dotted.end(), '.', '/');
  const std::string own = Format("net.ipv4.conf.{}.{}", dotted, name);
  const std::string all = Format("net.ipv4.conf.all.{}", name);
  for (const v1::Sysctl& sysctl : snapshot.host().sysctls()) {
    if (sysctl.name() != own && sysctl.name() != all) continue;
    const auto value = ParseNumber<std::uint32_t>(sysctl.value());
    if (value.ok()) most = std::max(most.value_or(0), *value);
  }
  return most;
}

struct Arp {
  std::optional<std::uint32_t> ignore;
  std::optional<std::uint32_t> announce;

  bool Known() const { return ignore && announce; }
  bool Fine() const { return *ignore >= 1 && *announce >= 2; }
};

using Neighbours = std::vector<const PortView*>;

void Fail(const Neighbours& ports, const Subnet& subnet, const Arp& arp, Verdicts& out) {
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
      {ToRemedy({.command = "sysctl -w net.ipv4.conf.all.arp_ignore=1 "
                            "net.ipv4.conf.all.arp_announce=2 net.ipv4.conf.all.rp_filter=2",
                 .note = "Also in /etc/sysctl.d. Each port also needs a routing table of its own, "
                         "with a rule for its address (ip rule add from ADDRESS table N)."}),
       ToRemedy({.command = "ip address add ADDRESS/PREFIX dev NETDEV",
                 .interrupts_traffic = true,
                 .note = "Or one subnet for each rail, which needs none of this."})},
      ToString(subnet));
}

void Judge(const Neighbours& ports, const Subnet& subnet, Verdicts& out) {
  for (const PortView* port : ports) {
    const v1::NodeSnapshot& snapshot = port->node->snapshot;
    const Arp arp = {.ignore = Setting(snapshot, port->port->netdev(), "arp_ignore"),
                     .announce = Setting(snapshot, port->port->netdev(), "arp_announce")};
    if (!arp.Known()) return;  // The host's limits say why.
    if (!arp.Fine()) return Fail(ports, subnet, arp, out);
  }
  out.Pass();
}

// Ports with another subnet than their rail has: rail_subnet_equal reports these, and what they
// share with another port of the node follows from it.
bool AreStrays(const Neighbours& ports, const Subnet& subnet, const fleet::NodeView& node,
               const GroupSummary& summary) {
  const bool here = IsOfThisFabric(node, summary);
  return std::any_of(ports.begin(), ports.end(), [&](const PortView* port) {
    const auto usual = UsualOn(summary, *port->rail);
    return usual && usual->subnet != subnet && (here || port->expected().subnet_per_rail());
  });
}

// Each subnet of a node is judged with the first port that is in it. Ports of a bond have one
// address and one netdev.
void JudgeMember(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const Subnet subnet = *JudgedSubnet(*member.port);
  Neighbours ports;
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
  else if (!AreStrays(ports, subnet, *member.node, summary))
    Judge(ports, subnet, out);
}

constexpr GroupRule kGroupRule = {.value = SubnetOnRail,
                                  .majority_only = true,
                                  .of_all_groups = true,
                                  .summarize = UsualSubnetOfRail,
                                  .judge = JudgeMember};

}  // namespace

extern const Rule ports_of_node_in_own_subnets = {
    .id = "ports_of_node_in_own_subnets",
    .title = "RoCE ports of a node in one subnet answer ARP each for itself",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "By default Linux answers for any of its addresses on any port, and sends by the first "
        "route: with several ports in one subnet peers learn the wrong MAC, traffic of eight ports "
        "leaves by one, and connections time out. One subnet for each rail avoids it; else ARP "
        "and routing must be told.",
    .source = "kernel Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce, rp_filter)",
    .needs = {Input::kNetInterfaces, Input::kHostLimits},
    .fix = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
