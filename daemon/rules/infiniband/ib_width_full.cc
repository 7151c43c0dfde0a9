#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Two of four lanes are a cable that splits a port in two, which is common. One is an accident.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || !port.port->has_width()) continue;
    if (port.expected().has_width()) continue;  // link_rate_expected's
    if (port.port->width() != 1) {
      out.Pass();
      continue;
    }
    out.Fail(port.Subject(), Format("link runs on 1 lane ({}), expected 4", port.port->speed()),
             {ToEvidence(*port.node, {.what = "lanes",
                                      .expected = "4",
                                      .seen = "1",
                                      .source = PortFile(port, "rate"),
                                      .basis = "rule"})},
             {ToRemedy({.command = Format("ibportstate {} {} reset", port.port->lid(),
                                          port.port->number()),
                        .interrupts_traffic = true,
                        .note = "The link trains anew. When it comes up with one lane again: "
                                "reseat, clean or replace cable and module."})});
  }
}

}  // namespace

extern const Rule ib_width_full = {
    .id = "ib_width_full",
    .title = "No InfiniBand link runs on a single lane",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A link whose lanes do not all train comes up with fewer of them, at a fourth of the "
        "speed, and says so nowhere else. It comes from dirty or damaged cables and modules.",
    .source =
        "InfiniBand specification, PortInfo:LinkWidthActive; kernel ABI document "
        "sysfs-class-infiniband (rate)",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kWidthFieldNumber},
    .fix = "ibportstate LID PORT reset; then cable and module",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
