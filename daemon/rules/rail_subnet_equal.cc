#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/subnets.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct Usual {
  Subnet subnet;
  std::size_t ports = 0;  // That have it
  std::size_t all = 0;
};

std::optional<Subnet> Judged(const PortView& port) {
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  return SubnetOf(port);
}

// What more than half of at least three ports of each rail have.
std::vector<std::optional<Usual>> UsualOf(const fleet::FleetView& fleet) {
  std::vector<std::optional<Usual>> usual;
  for (const std::vector<PortView>& rail : fleet.rails()) {
    std::map<Subnet, std::size_t> counts;
    std::size_t all = 0;
    for (const PortView& port : rail) {
      if (const auto subnet = Judged(port)) {
        ++counts[*subnet];
        ++all;
      }
    }
    std::optional<Usual>& most = usual.emplace_back();
    for (const auto& [subnet, ports] : counts)
      if (all >= 3 && 2 * ports > all) most = {.subnet = subnet, .ports = ports, .all = all};
  }
  return usual;
}

void Fail(const PortView& port, const Subnet& seen, const Usual& usual, Verdicts& out) {
  const std::string basis =
      Format("{} of {} nodes on rail {}", usual.ports, usual.all, port.rail->value());
  out.Fail(port.Subject(),
           Format("subnet {}, expected {} ({})", ToString(seen), ToString(usual.subnet), basis),
           {ToEvidence(*port.node, {.what = "subnet of " + port.port->netdev(),
                                    .expected = ToString(usual.subnet),
                                    .seen = ToString(seen),
                                    .source = "rtnetlink " + port.port->netdev(),
                                    .basis = basis})},
           {ToRemedy({.command = Format("ip address replace ADDRESS/{} dev {}", usual.subnet.bits,
                                        port.port->netdev()),
                      .interrupts_traffic = true,
                      .note = "When the address is wrong; take the old one away. When two ports "
                              "have each other's subnet, look at their cables first."})});
}

// A node that is elsewhere in all its rails belongs to another part of a routed fabric. One that
// is as the others in some rails and not in this one has a wrong address.
bool IsOfThisFabric(const fleet::NodeView& node, const std::vector<std::optional<Usual>>& usual) {
  for (const PortView& port : node.ports) {
    const auto subnet = Judged(port);
    if (!subnet) continue;
    for (const auto& rail : usual)
      if (rail && rail->subnet == *subnet) return true;
  }
  return false;
}

void Evaluate(const fleet::FleetView& fleet, Verdicts& out) {
  const auto usual = UsualOf(fleet);
  for (const fleet::NodeView& node : fleet.nodes()) {
    std::optional<bool> here;
    for (const PortView& port : node.ports) {
      const auto subnet = Judged(port);
      if (!subnet || !usual[port.rail->value()]) continue;
      const Usual& rail = *usual[port.rail->value()];
      if (*subnet == rail.subnet) {
        out.Pass();
        continue;
      }
      if (!here) here = IsOfThisFabric(node, usual);
      if (*here || port.expected().subnet_per_rail()) Fail(port, *subnet, rail, out);
    }
  }
}

}  // namespace

extern const Rule rail_subnet_equal = {
    .id = "rail_subnet_equal",
    .title = "Ports of a rail are in one IPv4 subnet, where the fabric has one for each rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port with an address of another rail, or with a wrong prefix length, cannot reach its "
        "peers, or reaches them through a router. Nodes that differ in all rails are taken for "
        "another part of a routed fabric, unless the profile says subnet_per_rail.",
    .source = "rail-optimised designs of vendors: one subnet for each rail",
    .family = "addresses",
    .needs = "net_interfaces",
    .profile = "subnet_per_rail",
    .fix = "ip address replace ADDRESS/PREFIX dev NETDEV",
    .evaluate_fleet = Evaluate,
};

}  // namespace fabric::rules
