#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/bonds.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Fail(const RdmaBond& bond, Verdicts& out) {
  const fleet::PortView& port = *bond.port;
  const std::string& name = bond.bond->name();
  out.Fail(port.Subject(),
           Format("no RoCE LAG over {}: {}, expected one RDMA device for the bond", name,
                  port.port->lag().reason()),
           {ToEvidence(*port.node, {.what = "RoCE LAG over " + name,
                                    .expected = "formed",
                                    .seen = port.port->lag().reason(),
                                    .source = Format("sys/class/net/{}/bonding", name),
                                    .basis = "an aggregating bond of RDMA ports"})},
           {ToRemedy({.platform = "mlx5",
                      .command = "dmesg | grep -i lag",
                      .note = "It says why. All ports of the card must be in the bond, in mode "
                              "active-backup, balance-xor or 802.3ad, and virtual functions off "
                              "or the card in switchdev mode; then make the bond anew."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : BondsOf(node)) {
    const v1::RoceLag& lag = bond.port->port->lag();
    if (!lag.has_formed() || !IsAggregate(*bond.bond)) continue;
    if (!DriverOf(*bond.port).starts_with("mlx5") &&
        !std::string_view(bond.port->device->driver()).starts_with("mlx5"))
      continue;  // Others are not known to form one.
    if (lag.formed())
      out.Pass();
    else if (!SpansCards(bond))  // Else bond_within_one_card's
      Fail(bond, out);
  }
}

}  // namespace

extern const Rule roce_lag_formed = {
    .id = "roce_lag_formed",
    .title = "An aggregating bond over the ports of an mlx5 card is one RDMA device",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Where the card forms no LAG, each port keeps an RDMA device of its own: queue pairs stay "
        "on one port, use half of the bandwidth, and die with its link although the bond lives on.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "All ports of the card in one bond of mode 1, 2 or 4; dmesg says what is missing",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
