#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Only known where somebody made the directory of configfs, which means that somebody set it.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail || !IsRoce(port) || !IsUp(port)) continue;
    const v1::RoceDefaults& defaults = port.port->roce_defaults();
    if (!defaults.has_rdma_cm_mode()) continue;
    if (defaults.rdma_cm_mode() == "RoCE v2") {
      out.Pass();
      continue;
    }
    const std::string& device = port.device->name();
    out.Fail(
        port.Subject(), Format("RDMA-CM uses {}, expected RoCE v2", defaults.rdma_cm_mode()),
        {ToEvidence(*port.node, {.what = "default_roce_mode",
                                 .expected = "RoCE v2",
                                 .seen = defaults.rdma_cm_mode(),
                                 .source = Format("sys/kernel/config/rdma_cm/{}/ports/{}/"
                                                  "default_roce_mode",
                                                  device, port.port->number()),
                                 .basis = "the port has RoCE v2 GIDs"})},
        {ToRemedy({.command = Format("cma_roce_mode -d {} -p {} -m 2", device, port.port->number()),
                   .note = "Connections that are up keep what they have."})});
  }
}

}  // namespace

extern const Rule rdma_cm_roce_v2 = {
    .id = "rdma_cm_roce_v2",
    .title = "RDMA-CM is not set to RoCE v1",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "RoCE v1 is no IP: it ends at the first router, has no DSCP, and no ECN. Storage that "
        "connects by RDMA-CM loses its priority and cannot leave its segment, while jobs that "
        "choose a GID themselves are fine.",
    .source = "kernel Documentation/ABI/testing/configfs-rdma_cm (default_roce_mode)",
    .needs = {Input::kRoceDefaults},
    .fix = "cma_roce_mode -d DEVICE -p PORT -m 2",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
