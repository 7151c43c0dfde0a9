#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Differences between the rules on the width and the speed of links.
struct LinkProperty {
  std::string_view what;
  std::string_view file;
  bool (*is_low)(const v1::PciFunction&) = nullptr;
  // Whether a low value is a fault, and this rule's finding.
  bool (*is_fault)(const v1::NodeSnapshot&, const v1::PciFunction&) = nullptr;
  std::string (*show)(const LinkLimit&) = nullptr;
  // "has 8 lanes, expected 16"
  std::string (*predicate)(const LinkLimit& seen, const LinkLimit& expected) = nullptr;
  std::string_view registers;  // Lines of lspci
  std::string_view note;
};

LinkLimit LimitOf(const v1::PciLink& link) {
  return {.megatransfers = link.speed_megatransfers_per_second(), .width = link.width()};
}

void Fail(const fleet::NodeView& node, const LinkProperty& property,
          const v1::PciFunction& function, const Owner& owner, Verdicts& out) {
  const LinkLimit seen = LimitOf(function.link());
  const LinkLimit expected = *CommonLimit(function);
  const std::string& address = function.address();
  out.Fail(SubjectOf(node, owner),
           Format("PCIe link of {} {}", FunctionName(function, owner),
                  property.predicate(seen, expected)),
           {ToEvidence(*node.node, {.what = std::string(property.what),
                                    .expected = property.show(expected),
                                    .seen = property.show(seen),
                                    .source = PciFile(address, property.file),
                                    .basis = Format("the device can {}, the port above {}",
                                                    property.show(LimitOf(function.link_max())),
                                                    property.show(LimitOf(function.slot_max())))})},
           {Query({.command = Format("lspci -vv -s {} | grep -E '{}'", address, property.registers),
                   .note = std::string(property.note)})},
           owner.port != nullptr ? std::string_view() : std::string_view(address));
}

void JudgeLinks(const fleet::NodeView& node, const LinkProperty& property, Verdicts& out) {
  if (node.ports.empty()) return;
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::string_view reported;  // Card of the last finding: the functions of a card share its link.
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    if (!function.has_slot_max() || !function.has_link()) continue;
    if (!property.is_low(function)) {
      out.Pass();
      continue;
    }
    const std::string_view card = CardOf(function.address());
    if (card == reported || !property.is_fault(snapshot, function)) continue;
    const Owner owner = OwnerOf(node, function);
    if (!owner.judged) continue;
    reported = card;
    Fail(node, property, function, owner, out);
  }
}

// More than half of the other functions of its kind in the node, and at least two, are faster.
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

// The link speed of a GPU depends on its load. A narrow link is a finding of
// pcie_link_width_as_capable.
bool IsSpeedFault(const v1::NodeSnapshot& snapshot, const v1::PciFunction& function) {
  if (IsNarrow(function)) return false;
  if (KeepsLinkSpeed(function)) return true;
  const bool gpu = !IsBridge(function) && !function.class_code().starts_with("02");
  return !gpu && IsSlowerThanEquals(snapshot, function);
}

std::string ShowLinkSpeed(const LinkLimit& limit) {
  return ShowSpeed(limit.megatransfers);
}

// Below the maximum of the card: a fault, unless the slot gives no more.
bool IsSlowerThanCapable(const Member& port) {
  const v1::PciFunction* const function = port.port->function;
  return IsHardware(port) && function != nullptr &&
         function->link().speed_megatransfers_per_second() <
             function->link_max().speed_megatransfers_per_second();
}

bool IsNarrowerThanCapable(const Member& port) {
  const v1::PciFunction* const function = port.port->function;
  return IsHardware(port) && function != nullptr && function->link().width() > 0 &&
         function->link().width() < function->link_max().width();
}

bool HasRdmaPorts(const Member& node) {
  return !node.node->ports.empty();
}

constexpr LinkProperty kSpeed = {
    .what = "PCIe link speed",
    .file = "current_link_speed",
    .is_low = IsSlow,
    .is_fault = IsSpeedFault,
    .show = ShowLinkSpeed,
    .predicate =
        [](const LinkLimit& seen, const LinkLimit& expected) {
          return Format("runs at {}, expected {}", ShowLinkSpeed(seen), ShowLinkSpeed(expected));
        },
    .registers = "LnkCap|LnkSta|LnkCtl2",
    .note =
        "Drain the node, reseat the card or its riser, and check again. Then check the slot's "
        "speed in the BIOS, which may be fixed to a lower value."};

constexpr LinkProperty kWidth = {
    .what = "PCIe lanes",
    .file = "current_link_width",
    .is_low = IsNarrow,
    .is_fault = [](const v1::NodeSnapshot&, const v1::PciFunction&) { return true; },
    .show = [](const LinkLimit& limit) { return Format("x{}", limit.width); },
    .predicate =
        [](const LinkLimit& seen, const LinkLimit& expected) {
          return Format("has {} lanes, expected {}", seen.width, expected.width);
        },
    .registers = "LnkCap|LnkSta",
    .note =
        "Drain the node, reseat the card or its riser, and check again. Then check the slot's "
        "bifurcation in the BIOS, then replace the card."};

}  // namespace

extern const Rule pcie_link_speed_as_capable = {
    .id = "pcie_link_speed_as_capable",
    .title = "PCIe links of NICs and the switches above run at the speed that both ends support",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A link that trained at a lower generation has half the bandwidth or less. Usual causes: "
        "a bad contact, a riser made for an older generation, or a BIOS that fixes the slot's "
        "speed. Links of GPUs are not judged: they slow down when idle.",
    .source =
        "kernel drivers/pci/pci-sysfs.c (current_link_speed, max_link_speed); PCI Express "
        "Base Specification, Link Status register",
    .needs = {Input::kPciFunctions},
    .reads = {{.field = Field::kPciLink, .applies = IsOnPciLink},
              {.field = Field::kPciLinkMax, .applies = IsOnPciLink},
              {.field = Field::kPciSlotMax, .applies = IsSlowerThanCapable}},
    .fix = "reseat the card; set the slot's speed in the BIOS to automatic",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLinks(node, kSpeed, out); },
};

extern const Rule pcie_link_width_as_capable = {
    .id = "pcie_link_width_as_capable",
    .title =
        "PCIe links of NICs, GPUs and the switches above have all lanes that both ends support",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Each lane that did not train reduces the bandwidth, and a collective runs at the speed "
        "of its slowest NIC. Usual causes: a badly seated card, a riser, or a slot that the BIOS "
        "has split. NCCL computes with the widest link and does not notice.",
    .source =
        "kernel drivers/pci/pci-sysfs.c (current_link_width, max_link_width); PCI Express "
        "Base Specification, Link Status register",
    .needs = {Input::kPciFunctions},
    .reads = {{.field = Field::kPciLink, .applies = IsOnPciLink},
              {.field = Field::kPciLinkMax, .applies = IsOnPciLink},
              {.field = Field::kPciSlotMax, .applies = IsNarrowerThanCapable},
              {.field = Field::kPathLinks, .applies = HasRdmaPorts}},
    .fix = "reseat the card; check the slot's bifurcation in the BIOS",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeLinks(node, kWidth, out); },
};

}  // namespace fabric::rules
