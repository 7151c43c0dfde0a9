#include <vector>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

void Fail(const fleet::NodeView& node, const v1::PciFunction& function, const Owner& owner,
          Verdicts& out) {
  const std::uint32_t width = function.link().width();
  const std::uint32_t expected = CommonLimit(function)->width;
  const std::string& address = function.address();
  out.Fail(SubjectOf(node, owner),
           Format("PCIe link of {} has {} lanes, expected {}", FunctionName(function, owner), width,
                  expected),
           {ToEvidence(*node.node, {.what = "PCIe lanes",
                                    .expected = Format("x{}", expected),
                                    .seen = Format("x{}", width),
                                    .source = PciFile(address, "current_link_width"),
                                    .basis = Format("the device can x{}, the port above x{}",
                                                    function.link_max().width(),
                                                    function.slot_max().width())})},
           {ToRemedy({.command = Format("lspci -vv -s {} | grep -E 'LnkCap|LnkSta'", address),
                      .note = "Drain the node, reseat the card or its riser and look again; then "
                              "the slot's settings in the BIOS (bifurcation), then exchange the "
                              "card."})},
           owner.port != nullptr ? std::string_view() : std::string_view(address));
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty()) return;
  std::vector<std::string_view> cards;  // Named already: functions of a card share its link.
  for (const v1::PciFunction& function : node.node->snapshot.pci_functions()) {
    if (!function.has_slot_max() || !function.has_link()) continue;
    if (!IsNarrow(function)) {
      out.Pass();
      continue;
    }
    const std::string_view card = CardOf(function.address());
    if (!cards.empty() && cards.back() == card) continue;
    const Owner owner = OwnerOf(node, function);
    if (!owner.judged) continue;
    cards.push_back(card);
    Fail(node, function, owner, out);
  }
}

}  // namespace

extern const Rule pcie_link_width_as_capable = {
    .id = "pcie_link_width_as_capable",
    .title =
        "PCIe links of NICs, GPUs and the switches above them have all lanes that both ends "
        "can",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Each lane that did not train takes its share of the bandwidth, and a collective runs at "
        "the pace of its slowest NIC. It comes from a card that is not seated well, a riser, or "
        "a slot that the BIOS has split. NCCL computes with the widest link and does not notice.",
    .source =
        "kernel drivers/pci/pci-sysfs.c (current_link_width, max_link_width); PCI Express "
        "Base Specification, Link Status register",
    .needs = {Input::kPciFunctions},
    .fix = "reseat the card; check the slot's bifurcation in the BIOS",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
