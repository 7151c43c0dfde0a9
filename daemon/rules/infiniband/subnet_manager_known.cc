#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, Verdicts& out) {
  out.Fail(port.Subject(), "SM LID 0 on an ACTIVE port, expected that of a subnet manager",
           {ToEvidence(*port.node, {.what = "SM LID",
                                    .expected = "not 0",
                                    .seen = "0",
                                    .source = PortFile(port, "sm_lid"),
                                    .basis = "rule"})},
           {ToRemedy({.command = "sminfo", .note = "Does a subnet manager answer?"}),
            ToRemedy({.command = "systemctl start opensm",
                      .note = "On the node that is meant to run it; or look at UFM, or at the "
                              "switch that does."})});
}

// Without a LID either, the port is lid_assigned's finding; before ACTIVE it is port_active's.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || IsVirtualFunction(port) || !port.port->has_sm_lid()) continue;
    if (port.port->sm_lid() == 0 && port.port->lid() != 0)
      Fail(port, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule subnet_manager_known = {
    .id = "subnet_manager_known",
    .title = "Every ACTIVE InfiniBand port knows its subnet manager",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without a subnet manager nothing is routed anew: a link that fails, or a node that joins, "
        "is never taken in, multicast groups cannot be joined, and path queries time out.",
    .source = "InfiniBand specification, PortInfo:MasterSMLID",
    .needs = {Input::kRdmaPorts},
    .fix = "systemctl start opensm, or whatever runs the subnet",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
