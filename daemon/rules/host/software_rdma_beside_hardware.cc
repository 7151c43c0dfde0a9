#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsSoftware(const PortView& port) {
  const std::string& driver = port.device->driver();
  return driver == "rxe" || driver == "siw";
}

bool IsHardware(const PortView& port) {
  return port.rail && !IsSoftware(port) && port.device->has_pci_address();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (std::none_of(node.ports.begin(), node.ports.end(), IsHardware)) return;
  bool found = false;
  for (const PortView& port : node.ports) {
    if (!IsSoftware(port) || port.port->state() != v1::PORT_STATE_ACTIVE) continue;
    found = true;
    const std::string& name = port.device->name();
    out.Fail(DeviceSubject(port),
             Format("{} is a device of software ({}), expected none beside RDMA hardware", name,
                    port.device->driver()),
             {ToEvidence(*port.node, {.what = "driver of " + name,
                                      .expected = "one of hardware",
                                      .seen = port.device->driver(),
                                      .source = Format("sys/class/infiniband/{}", name),
                                      .basis = "the node has RDMA hardware"})},
             {ToRemedy({.command = Format("rdma link delete {}", name),
                        .interrupts_traffic = true,
                        .note = "And where it is made at boot."})});
  }
  if (!found) out.Pass();
}

}  // namespace

extern const Rule software_rdma_beside_hardware = {
    .id = "software_rdma_beside_hardware",
    .title = "A node with RDMA hardware has no RDMA device of software (rxe, siw)",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Libraries take every ACTIVE device they find, and a device of software looks like any "
        "other: part of a job's traffic goes through the kernel at a hundredth of the speed.",
    .source = "kernel drivers/infiniband/sw; NCCL's choice of devices in net_ib",
    .needs = {Input::kRdmaDevices, Input::kRdmaPorts},
    .fix = "rdma link delete NAME",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
