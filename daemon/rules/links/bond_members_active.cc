#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/bonds.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Of a bond without LAG the member's own RDMA port is down, which port_active reports.
bool IsReportedElsewhere(const RdmaBond& bond, const v1::NetInterface& member) {
  for (const v1::RdmaDevice& device : bond.port->node->snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.netdev() == member.name() && port.state() == v1::PORT_STATE_DOWN) return true;
  return false;
}

// Empty: the member takes its part.
std::string_view Trouble(const v1::NetInterface& member) {
  if (member.has_carrier() && !member.carrier()) return "has no link";
  if (!member.has_bond_member()) return {};
  if (member.bond_member().has_mii_up() && !member.bond_member().mii_up()) return "has no link";
  if (member.bond_member().has_active() && !member.bond_member().active())
    return "is not part of the aggregate";
  return {};
}

void Fail(const RdmaBond& bond, const v1::NetInterface& member, std::string_view trouble,
          Verdicts& out) {
  const fleet::PortView& port = *bond.port;
  out.Fail(port.Subject(),
           Format("member {} of {} {}, expected active", member.name(), bond.bond->name(), trouble),
           {ToEvidence(*port.node,
                       {.what = "member " + member.name(),
                        .expected = "active, with link",
                        .seen = std::string(trouble),
                        .source = Format("sys/class/net/{}/bonding_slave/state", member.name()),
                        .basis = "mode " + bond.bond->bond().mode()})},
           {ToRemedy({.command = Format("ethtool {}; ip -d link show master {}", member.name(),
                                        bond.bond->name()),
                      .note = "With a link: does the switch speak LACP on "
                              "both ports, in one group? Without: cable, module, switch port."})},
           member.name());
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : BondsOf(node)) {
    if (!IsAggregate(*bond.bond)) continue;
    for (const v1::NetInterface* member : bond.members) {
      const std::string_view trouble = Trouble(*member);
      if (trouble.empty())
        out.Pass();
      else if (!IsReportedElsewhere(bond, *member))
        Fail(bond, *member, trouble, out);
    }
  }
}

}  // namespace

extern const Rule bond_members_active = {
    .id = "bond_members_active",
    .title = "Every member of an aggregating bond that RDMA runs over takes its part",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The RDMA device of a bond stays ACTIVE with one of its links: nothing but the bandwidth "
        "shows that the other is gone, or that the switch never agreed to aggregate.",
    .source = "kernel Documentation/networking/bonding.rst",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "LACP on the switch ports; cable, module",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
