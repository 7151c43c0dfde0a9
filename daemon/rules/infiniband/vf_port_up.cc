#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

const v1::PciFunction* FunctionOf(const PortView& port) {
  for (const v1::PciFunction& function : port.node->snapshot.pci_functions())
    if (function.address() == port.device->pci_address()) return &function;
  return nullptr;
}

// The port of the physical function that the virtual one is of.
const PortView* ParentOf(const PortView& port, const fleet::NodeView& node) {
  const v1::PciFunction* const function = FunctionOf(port);
  if (function == nullptr || !function->has_physical_function()) return nullptr;
  for (const PortView& other : node.ports)
    if (other.device->pci_address() == function->physical_function() &&
        other.port->number() == port.port->number())
      return &other;
  return nullptr;
}

void Fail(const PortView& port, const PortView& parent, Verdicts& out) {
  const std::string& netdev = parent.port->netdev();
  out.Fail(
      port.Subject(),
      Format("port of a virtual function is DOWN, expected ACTIVE as {} is", PortName(parent)),
      {ToEvidence(*port.node, {.what = "port state",
                               .expected = "ACTIVE",
                               .seen = "DOWN",
                               .source = PortFile(port, "state"),
                               .basis = "its physical function is ACTIVE"})},
      {ToRemedy(
           {.command = Format("ip link set dev {} vf N state auto", netdev.empty() ? "PF" : netdev),
            .note = "The port follows that of the physical function then."}),
       ToRemedy({.platform = "mlx5",
                 .command = Format("ip link set dev {0} vf N node_guid GUID && "
                                   "ip link set dev {0} vf N port_guid GUID",
                                   netdev.empty() ? "PF" : netdev),
                 .interrupts_traffic = true,
                 .note = "Without GUIDs the port never comes up; the subnet manager must allow "
                         "virtual ports. Bind the driver again afterwards."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsInfiniband(port) || !IsVirtualFunction(port) || !port.port->has_state()) continue;
    if (IsZeroGuid(port.device->node_guid())) continue;  // Nobody has given it to anybody.
    const PortView* const parent = ParentOf(port, node);
    if (parent == nullptr || parent->port->state() != v1::PORT_STATE_ACTIVE) continue;
    if (port.port->state() == v1::PORT_STATE_DOWN)
      Fail(port, *parent, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule vf_port_up = {
    .id = "vf_port_up",
    .title = "The port of an InfiniBand virtual function is up when that of its physical one is",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A virtual function whose link state or GUIDs nobody set stays down, and the container or "
        "virtual machine that gets it has no RDMA, though host and cable are fine.",
    .source = "kernel drivers/infiniband/hw/mlx5/ib_virt.c; man page ip-link(8)",
    .needs = {Input::kRdmaPorts, Input::kPciFunctions},
    .fix = "ip link set dev PF vf N state auto; node_guid and port_guid likewise",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
