#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

const v1::PciFunction* Judged(const PortView& port) {
  if (!port.rail || !IsUp(port)) return nullptr;
  const v1::PciFunction* const function = FunctionOf(port);
  return function != nullptr && function->has_max_payload_bytes() ? function : nullptr;
}

// Whether all bridges above it could send and take packets of this size.
bool PathCan(const v1::NodeSnapshot& snapshot, const v1::PciFunction& function,
             std::uint32_t bytes) {
  if (function.max_payload_supported_bytes() < bytes) return false;
  return std::all_of(function.path().begin(), function.path().end(), [&](const std::string& above) {
    const v1::PciFunction* const bridge = FindFunction(snapshot, above);
    return bridge != nullptr && bridge->max_payload_supported_bytes() >= bytes;
  });
}

void JudgePort(const fleet::NodeView& node, const PortView& port, const v1::PciFunction& function,
               Verdicts& out) {
  std::uint32_t usual = function.max_payload_bytes();
  std::size_t equals = 0;
  std::size_t larger = 0;
  for (const PortView& other : node.ports) {
    const v1::PciFunction* const its = Judged(other);
    if (its == nullptr || &other == &port || other.device->model() != port.device->model())
      continue;
    ++equals;
    if (its->max_payload_bytes() <= function.max_payload_bytes()) continue;
    ++larger;
    usual = its->max_payload_bytes();
  }
  if (larger < 2 || 2 * larger <= equals || !PathCan(node.node->snapshot, function, usual))
    return out.Pass();
  out.Fail(DeviceSubject(port),
           Format("PCIe packets of {} carry {} bytes, expected {}", port.device->name(),
                  function.max_payload_bytes(), usual),
           {ToEvidence(*port.node, {.what = "PCIe maximum payload (bytes)",
                                    .expected = Format("{}", usual),
                                    .seen = Format("{}", function.max_payload_bytes()),
                                    .source = PciFile(function.address(), "config"),
                                    .basis = Format("{} of {} other NICs of this model in the "
                                                    "node, and its path can",
                                                    larger, equals)})},
           {ToRemedy({.command = "pci=pcie_bus_perf in the kernel's command line",
                      .interrupts_traffic = true,
                      .note = "Takes effect with the next boot. The kernel then gives each path "
                              "the largest packets that it can; or set it in the BIOS."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  std::uint32_t common = 0;  // Nearly always all have the same.
  bool equal = true;
  for (const PortView& port : node.ports) {
    const v1::PciFunction* const function = Judged(port);
    if (function == nullptr) continue;
    equal = equal && (common == 0 || common == function->max_payload_bytes());
    common = function->max_payload_bytes();
  }
  if (common == 0) return;
  if (equal) return out.Pass();
  for (const PortView& port : node.ports)
    if (const v1::PciFunction* const function = Judged(port)) JudgePort(node, port, *function, out);
}

}  // namespace

extern const Rule pcie_payload_equal_in_node = {
    .id = "pcie_payload_equal_in_node",
    .title = "A NIC's PCIe packets are as large as those of its equals in the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Smaller packets mean more headers: a NIC with 128 bytes loses a tenth of its bandwidth "
        "against one with 256. A card that was plugged in while running, or a BIOS that treats "
        "one slot in another way, leaves it with less than its path can.",
    .source =
        "PCI Express Base Specification, Device Control register; kernel "
        "Documentation/admin-guide/kernel-parameters.txt (pci=pcie_bus_*)",
    .needs = {Input::kPciFunctions},
    .access = Access::kSysAdmin,
    .fix = "pci=pcie_bus_perf in the kernel's command line",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
