#include "base/text.h"
#include "daemon/rules/addresses/subnets.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, const Subnet& seen, const UsualSubnet& usual, Verdicts& out) {
  const std::string basis = Format("{} nodes on rail {}", ToText(usual.ports), port.rail->value());
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

void Judge(const Member& member, const GroupSummary& summary, Verdicts& out) {
  const PortView& port = *member.port;
  const auto usual = UsualOn(summary, *port.rail);
  if (!usual) return;
  const Subnet seen = *JudgedSubnet(port);
  if (seen == usual->subnet) return out.Pass();
  if (IsOfThisFabric(*member.node, summary) || port.expected().subnet_per_rail())
    Fail(port, seen, *usual, out);
}

// A node is held against all rails.
constexpr GroupRule kGroupRule = {.value = SubnetOnRail,
                                  .majority_only = true,
                                  .of_all_groups = true,
                                  .summarize = UsualSubnetOfRail,
                                  .judge = Judge};

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
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kSubnetPerRailFieldNumber},
    .fix = "ip address replace ADDRESS/PREFIX dev NETDEV",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
