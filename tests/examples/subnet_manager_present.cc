#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const fleet::PortView& port : node.ports) {
    // Does not apply, or the engine reports UNKNOWN: no verdict
    if (!IsInfinibandInUse({.port = &port}) || !port.port->has_sm_lid()) continue;
    if (port.port->sm_lid() != 0)
      out.Pass();
    else
      out.Fail(port.Subject(), "no subnet manager, expected one",
               {ToEvidence(*port.node, {.what = "LID of the subnet manager",
                                        .expected = "not 0",
                                        .seen = "0",
                                        .source = PortFile(port, "sm_lid"),
                                        .basis = "rule"})},
               {Query({.command = Format("sminfo -C {} -P {}", port.device->name(),
                                         port.port->number())})});
  }
}

}  // namespace

extern const Rule subnet_manager_present = {
    .id = "subnet_manager_present",
    .title = "An InfiniBand port that is up knows its subnet manager",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why = "Without a subnet manager the port keeps its addresses but gets no routing updates.",
    .source = "InfiniBand specification, PortInfo:MasterSMLID",
    .needs = {Input::kRdmaPorts},
    .reads = {{.field = Field::kSmLid, .applies = IsInfinibandInUse}},
    .fix = "Start a subnet manager, or enable the one of a switch",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
