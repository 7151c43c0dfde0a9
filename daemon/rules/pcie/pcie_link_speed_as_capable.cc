#include <algorithm>
#include <vector>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Drivers whose cards keep the speed of the link when idle. GPUs and some others lower it.
constexpr std::string_view kSteady[] = {"mlx5_core", "mlx4_core", "bnxt_en", "ice", "ionic"};

bool IsSteady(const v1::PciFunction& function) {
  return std::find(std::begin(kSteady), std::end(kSteady), function.driver()) != std::end(kSteady);
}

// More than half of the others of its kind in the node, and two at least, are faster.
bool IsSlowerThanEquals(const v1::NodeSnapshot& snapshot, const v1::PciFunction& function) {
  std::size_t others = 0;
  std::size_t faster = 0;
  for (const v1::PciFunction& other : snapshot.pci_functions()) {
    if (&other == &function || !other.has_slot_max() || !other.has_link() ||
        other.device_id() != function.device_id() || other.vendor_id() != function.vendor_id())
      continue;
    ++others;
    if (other.link().speed_megatransfers_per_second() >
        function.link().speed_megatransfers_per_second())
      ++faster;
  }
  return faster >= 2 && 2 * faster > others;
}

// A GPU's own link tells how busy the GPU is.
bool MaySay(const v1::NodeSnapshot& snapshot, const v1::PciFunction& function) {
  if (IsSteady(function)) return true;
  const bool gpu = !IsBridge(function) && !function.class_code().starts_with("02");
  return !gpu && IsSlowerThanEquals(snapshot, function);
}

void Fail(const fleet::NodeView& node, const v1::PciFunction& function, const Owner& owner,
          Verdicts& out) {
  const std::string seen = ShowSpeed(function.link().speed_megatransfers_per_second());
  const std::string expected = ShowSpeed(CommonLimit(function)->megatransfers);
  const std::string& address = function.address();
  out.Fail(
      SubjectOf(node, owner),
      Format("PCIe link of {} runs at {}, expected {}", FunctionName(function, owner), seen,
             expected),
      {ToEvidence(
          *node.node,
          {.what = "PCIe link speed",
           .expected = expected,
           .seen = seen,
           .source = PciFile(address, "current_link_speed"),
           .basis = Format("the device can {}, the port above {}",
                           ShowSpeed(function.link_max().speed_megatransfers_per_second()),
                           ShowSpeed(function.slot_max().speed_megatransfers_per_second()))})},
      {ToRemedy({.command = Format("lspci -vv -s {} | grep -E 'LnkCap|LnkSta|LnkCtl2'", address),
                 .note = "Drain the node, reseat the card or its riser and look again; then the "
                         "slot's speed in the BIOS, which may be fixed to less."})},
      owner.port != nullptr ? std::string_view() : std::string_view(address));
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (node.ports.empty()) return;
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::string_view card;  // Named already: functions of a card share its link.
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    if (!function.has_slot_max() || !function.has_link()) continue;
    if (!IsSlow(function)) {
      out.Pass();
      continue;
    }
    if (IsNarrow(function)) continue;  // pcie_link_width_as_capable names the link.
    if (CardOf(function.address()) == card || !MaySay(snapshot, function)) continue;
    const Owner owner = OwnerOf(node, function);
    if (!owner.judged) continue;
    card = CardOf(function.address());
    Fail(node, function, owner, out);
  }
}

}  // namespace

extern const Rule pcie_link_speed_as_capable = {
    .id = "pcie_link_speed_as_capable",
    .title = "PCIe links of NICs and the switches above them run at the speed that both ends can",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A link that trained at a lower generation has half the bandwidth or less. It comes from "
        "a bad contact, a riser made for an older generation, or a BIOS that fixes the slot's "
        "speed. Links of GPUs are not judged: they slow down when idle.",
    .source =
        "kernel drivers/pci/pci-sysfs.c (current_link_speed, max_link_speed); PCI Express "
        "Base Specification, Link Status register",
    .needs = {Input::kPciFunctions},
    .fix = "reseat the card; set the slot's speed in the BIOS to automatic",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
