#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/bonds.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const RdmaBond& bond : BondsOf(node)) {
    const v1::Bond& settings = bond.bond->bond();
    if (!IsAggregate(*bond.bond) || !settings.has_transmit_hash_policy()) continue;
    if (settings.transmit_hash_policy() != "layer2") {
      out.Pass();
      continue;
    }
    const fleet::PortView& port = *bond.port;
    const std::string& name = bond.bond->name();
    out.Fail(port.Subject(), Format("transmit hash policy of {} layer2, expected layer3+4", name),
             {ToEvidence(*port.node,
                         {.what = "transmit hash policy of " + name,
                          .expected = "layer3+4",
                          .seen = settings.transmit_hash_policy(),
                          .source = Format("sys/class/net/{}/bonding/xmit_hash_policy", name),
                          .basis = "RDMA runs over the bond"})},
             {ToRemedy(
                 {.command = Format("ip link set dev {} type bond xmit_hash_policy layer3+4", name),
                  .note = "Also where the network is configured. The switches hash the other "
                          "direction by a setting of their own."})});
  }
}

}  // namespace

extern const Rule bond_hash_policy = {
    .id = "bond_hash_policy",
    .title = "An aggregating bond that RDMA runs over does not hash by MAC addresses alone",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "By MAC address (layer2, the default) all traffic through one router leaves by one port. "
        "How much of RDMA follows the policy depends on card and firmware.",
    .source = "kernel Documentation/networking/bonding.rst (xmit_hash_policy)",
    .needs = {Input::kBondsAndVlans, Input::kRoceLag},
    .fix = "ip link set dev BOND type bond xmit_hash_policy layer3+4",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
