#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/subnets.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<Subnet> Judged(const PortView& port) {
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  return SubnetOf(port);
}

// A subnet on a rail, as one number.
constexpr unsigned kRailShift = 40;
constexpr std::uint64_t kSubnetMask = (std::uint64_t{1} << kRailShift) - 1;

std::uint64_t ToNumber(const Subnet& subnet) {
  return std::uint64_t{subnet.bits} << 32 | subnet.network;
}

Subnet SubnetIn(std::uint64_t number) {
  return {.network = static_cast<std::uint32_t>(number),
          .bits = static_cast<std::uint32_t>((number & kSubnetMask) >> 32)};
}

std::optional<Value> SubnetOnRail(const Member& member) {
  const auto subnet = Judged(*member.port);
  if (!subnet) return {};
  return Value{std::uint64_t{member.port->rail->value()} << kRailShift | ToNumber(*subnet)};
}

// What more than half of at least three ports of each rail have.
Survey UsualOf(const Tally& tally) {
  std::map<std::uint64_t, std::uint64_t> ports;  // By rail
  for (const Tally::Camp& camp : tally.camps)
    ports[camp.value.number >> kRailShift] += camp.members;
  Survey usual;
  for (const Tally::Camp& camp : tally.camps) {
    const std::uint64_t all = ports[camp.value.number >> kRailShift];
    if (all < 3 || 2 * camp.members <= all) continue;
    usual.facts.push_back(camp.value.number);
    usual.shown.push_back({.count = camp.members, .of = all});
  }
  return usual;
}

void Fail(const PortView& port, const Subnet& seen, const Subnet& usual, Survey::Shown ports,
          Verdicts& out) {
  const std::string basis = Format("{} nodes on rail {}", ToText(ports), port.rail->value());
  out.Fail(port.Subject(),
           Format("subnet {}, expected {} ({})", ToString(seen), ToString(usual), basis),
           {ToEvidence(*port.node, {.what = "subnet of " + port.port->netdev(),
                                    .expected = ToString(usual),
                                    .seen = ToString(seen),
                                    .source = "rtnetlink " + port.port->netdev(),
                                    .basis = basis})},
           {ToRemedy({.command = Format("ip address replace ADDRESS/{} dev {}", usual.bits,
                                        port.port->netdev()),
                      .interrupts_traffic = true,
                      .note = "When the address is wrong; take the old one away. When two ports "
                              "have each other's subnet, look at their cables first."})});
}

// A node that is elsewhere in all its rails belongs to another part of a routed fabric. One that
// is as the others in some rails and not in this one has a wrong address.
bool IsOfThisFabric(const fleet::NodeView& node, const Survey& usual) {
  for (const PortView& port : node.ports) {
    const auto subnet = Judged(port);
    if (!subnet) continue;
    for (const std::uint64_t fact : usual.facts)
      if ((fact & kSubnetMask) == ToNumber(*subnet)) return true;
  }
  return false;
}

void Judge(const Member& member, const Survey& usual, Verdicts& out) {
  const PortView& port = *member.port;
  for (std::size_t i = 0; i < usual.facts.size(); ++i) {
    if (usual.facts[i] >> kRailShift != port.rail->value()) continue;
    const Subnet seen = *Judged(port);
    const Subnet expected = SubnetIn(usual.facts[i]);
    if (seen == expected) return out.Pass();
    if (IsOfThisFabric(*member.node, usual) || port.expected().subnet_per_rail())
      Fail(port, seen, expected, usual.shown[i], out);
    return;
  }
}

// All rails together: a node is held against all of them.
constexpr Census kCensus = {
    .group = WholeFleet, .value = SubnetOnRail, .survey = UsualOf, .judge = Judge};

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
    .census = &kCensus,
};

}  // namespace fabric::rules
