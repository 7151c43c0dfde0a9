#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty()) return;
  for (const v1::PciFunction& function : node.node->snapshot.pci_functions()) {
    if (!function.has_aer_fatal()) continue;
    if (function.aer_fatal() == 0) {
      out.Pass();
      continue;
    }
    const Owner owner = OwnerOf(node, function);
    if (!owner.judged) continue;
    const std::string& address = function.address();
    out.Fail(SubjectOf(node, owner),
             Format("PCIe fatal errors of {}: {}, expected 0", FunctionName(function, owner),
                    function.aer_fatal()),
             {ToEvidence(*node.node, {.what = "PCIe fatal errors since boot",
                                      .expected = "0",
                                      .seen = Format("{}", function.aer_fatal()),
                                      .source = PciFile(address, "aer_dev_fatal"),
                                      .basis = "rule"})},
             {ToRemedy({.command = Format("cat /{}", PciFile(address, "aer_dev_fatal")),
                        .note = "Tells the kind. Drain the node, reseat the card; exchange card, "
                                "riser or slot when it comes back."})},
             owner.port != nullptr ? std::string_view() : std::string_view(address));
  }
}

}  // namespace

extern const Rule pcie_no_fatal_errors = {
    .id = "pcie_no_fatal_errors",
    .title = "No NIC, GPU or bridge has had a fatal PCIe error since boot",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A fatal error takes the link down: the device was reset, and jobs on it died. It does "
        "not come from software. The next one comes under load.",
    .source =
        "kernel Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats; PCI Express Base "
        "Specification, Advanced Error Reporting",
    .needs = {Input::kPciFunctions},
    .fix = "reseat or exchange the card, the riser, the slot",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
