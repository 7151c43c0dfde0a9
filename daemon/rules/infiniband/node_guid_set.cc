#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || !port.device->has_node_guid()) continue;
    if (port.port->number() != port.device->ports(0).number()) continue;
    if (!IsZeroGuid(port.device->node_guid())) {
      out.Pass();
      continue;
    }
    out.Fail(
        DeviceSubject(port), "node GUID is zero, expected one of its own",
        {ToEvidence(*port.node,
                    {.what = "node GUID",
                     .expected = "not zero",
                     .seen = port.device->node_guid(),
                     .source = Format("sys/class/infiniband/{}/node_guid", port.device->name()),
                     .basis = "rule"})},
        {ToRemedy(
             {.platform = "mlx5",
              .command = Format("flint -d {} query full", port.device->pci_address()),
              .note = "Shows the GUIDs that the card was made with: flint sg sets them again."}),
         ToRemedy({.platform = "mlx5",
                   .command = "ip link set dev PF vf N node_guid GUID",
                   .interrupts_traffic = true,
                   .note = "Of a virtual function, on the host, before its driver is bound."})});
  }
}

}  // namespace

extern const Rule node_guid_set = {
    .id = "node_guid_set",
    .title = "Every InfiniBand device of the fabric has a node GUID",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "The subnet manager and connection managers tell devices apart by their GUID; one of zero "
        "is no GUID. It comes from firmware written without one, and from virtual functions "
        "whose GUID nobody set.",
    .source = "InfiniBand specification, NodeInfo:NodeGUID; rdma-core ibidsverify",
    .needs = {Input::kRdmaDevices},
    .fix = "flint -d DEVICE sg; ip link set dev PF vf N node_guid GUID of a virtual function",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
