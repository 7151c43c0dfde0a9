#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/bonds.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : BondsOf(node)) {
    if (!IsAggregate(*bond.bond)) continue;
    if (!SpansCards(bond)) {
      out.Pass();
      continue;
    }
    const fleet::PortView& port = *bond.port;
    std::vector<std::string> members;
    for (const v1::NetInterface* member : bond.members)
      members.push_back(Format("{} at {}", member->name(), member->pci_address()));
    out.Fail(port.Subject(),
             Format("{} has members on several cards: {}, expected one card", bond.bond->name(),
                    Listed(members)),
             {ToEvidence(*port.node,
                         {.what = "members of " + bond.bond->name(),
                          .expected = "ports of one card",
                          .seen = Listed(members),
                          .source = Format("sys/class/net/{}/bonding/slaves", bond.bond->name()),
                          .basis = "RoCE LAG is formed within a card"})},
             {ToRemedy({.command = "ip link set dev NETDEV nomaster",
                        .interrupts_traffic = true,
                        .note = "RDMA uses several cards as rails of their own, each with an "
                                "address; or bond the two ports of each card."})});
  }
}

}  // namespace

extern const Rule bond_within_one_card = {
    .id = "bond_within_one_card",
    .title = "An aggregating bond that RDMA runs over has all its members on one card",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "No hardware makes one RDMA device of two cards: queue pairs stay on the card where they "
        "were made, while the switches spread their packets over both.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "Cards as rails of their own, or bonds within a card",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
