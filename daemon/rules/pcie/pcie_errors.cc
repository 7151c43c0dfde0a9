#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// pcie_errors_like_equals

// Totals since boot, whose time is unknown. A few errors are normal at boot; only a NIC far above
// its equals is a fault.
constexpr std::uint64_t kCorrectableMin = 10'000;
constexpr std::uint64_t kNonfatalMin = 100;
constexpr std::uint64_t kTimes = 100;

using Total = std::uint64_t (v1::PciFunction::*)() const;

// The maximum of the other NICs of the model; absent with fewer than two others.
std::optional<std::uint64_t> MaximumOfOthers(const fleet::NodeView& node, const PortView& port,
                                             Total total) {
  std::size_t others = 0;
  std::uint64_t maximum = 0;
  for (const PortView& other : node.ports) {
    if (&other == &port || !other.rail || other.model != port.model) continue;
    const v1::PciFunction* const function = FunctionOf(other);
    if (function == nullptr || !function->has_aer_nonfatal()) continue;
    ++others;
    maximum = std::max(maximum, (function->*total)());
  }
  return others < 2 ? std::nullopt : std::optional(maximum);
}

bool JudgeTotal(const fleet::NodeView& node, const PortView& port, const v1::PciFunction& function,
                Total total, std::string_view kind, Verdicts& out) {
  const auto maximum = MaximumOfOthers(node, port, total);
  const std::uint64_t seen = (function.*total)();
  if (!maximum || seen / kTimes < std::max<std::uint64_t>(*maximum, 1)) return false;
  out.Fail(
      DeviceSubject(port),
      Format("PCIe {} errors of {}: {}, expected at most {} as on its equals", kind,
             port.device->name(), seen, *maximum),
      {ToEvidence(*port.node, {.what = Format("PCIe {} errors since boot", kind),
                               .expected = Format("at most {}", *maximum),
                               .seen = Format("{}", seen),
                               .source = PciFile(function.address(), Format("aer_dev_{}", kind)),
                               .basis = "other NICs of this model in the node"})},
      {Query(
          {.command = Format("cat /{}", PciFile(function.address(), Format("aer_dev_{}", kind))),
           .note =
               "Shows the kind. BadTLP, BadDLLP and RxErr mean a bad contact. Drain the node and "
               "reseat the card. If they come back, replace card or riser."})});
  return true;
}

void JudgeTotals(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail) continue;
    const v1::PciFunction* const function = FunctionOf(port);
    if (function == nullptr || !function->has_aer_nonfatal()) continue;
    const bool many =
        function->aer_nonfatal() >= kNonfatalMin || function->aer_correctable() >= kCorrectableMin;
    if (!many) {
      out.Pass();
      continue;
    }
    if (function->aer_nonfatal() >= kNonfatalMin &&
        JudgeTotal(node, port, *function, &v1::PciFunction::aer_nonfatal, "nonfatal", out))
      continue;
    if (function->aer_correctable() < kCorrectableMin ||
        !JudgeTotal(node, port, *function, &v1::PciFunction::aer_correctable, "correctable", out))
      out.Pass();
  }
}

// pcie_no_fatal_errors

// Such an error takes the link of the card down, or the driver gives the card up: ports that are
// down, and cards without one, are judged as well.
Owner OwnerOfError(const fleet::NodeView& node, const v1::PciFunction& function) {
  const Owner owner = OwnerOf(node, function);
  if (owner.judged || function.driver().starts_with("vfio")) return owner;
  const std::string_view card = CardOf(function.address());
  const PortView* down = nullptr;
  for (const PortView& port : node.ports) {
    if (!port.device->has_pci_address() || CardOf(port.device->pci_address()) != card) continue;
    const bool own = port.device->pci_address() == function.address();
    if (own && (!port.rail || port.expected().unused())) return owner;
    if (port.rail && (own || down == nullptr)) down = &port;
  }
  return {.port = down, .judged = true};
}

void JudgeFatal(const fleet::NodeView& node, Verdicts& out) {
  if (!IsRdmaNode(node)) return;
  for (const v1::PciFunction& function : node.node->snapshot.pci_functions()) {
    if (!function.has_aer_fatal()) continue;
    if (function.aer_fatal() == 0) {
      out.Pass();
      continue;
    }
    const Owner owner = OwnerOfError(node, function);
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
             {Query({.command = Format("cat /{}", PciFile(address, "aer_dev_fatal")),
                     .note = "Shows the kind. Drain the node and reseat the card. If errors come "
                             "back, replace card or riser, or use another slot."})},
             owner.port != nullptr ? std::string_view() : std::string_view(address));
  }
}

}  // namespace

extern const Rule pcie_errors_like_equals = {
    .id = "pcie_errors_like_equals",
    .title = "No NIC has a hundred times the PCIe errors of its equals in the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Correctable errors cause retransmissions, which cost bandwidth and latency. They "
        "announce a link that will train down or fail. One NIC among equals with thousands of "
        "errors has a bad contact. A few errors, or many on all NICs, are normal.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats",
    .needs = {Input::kPciFunctions},
    .reads = {{.field = Field::kAer, .applies = IsHardware}},
    .fix = "reseat or replace the card or its riser",
    .evaluate_node = JudgeTotals,
};

extern const Rule pcie_no_fatal_errors = {
    .id = "pcie_no_fatal_errors",
    .title = "No NIC, GPU or bridge has had a fatal PCIe error since boot",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "A fatal error takes the link down: the device was reset, and jobs on it failed. Software "
        "does not cause it. The next one comes under load.",
    .source =
        "kernel Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats; PCI Express Base "
        "Specification, Advanced Error Reporting",
    .needs = {Input::kPciFunctions},
    .reads = {{.field = Field::kAer, .applies = IsHardware}},
    .fix = "reseat or replace the card or its riser; use another slot",
    .evaluate_node = JudgeFatal,
};

}  // namespace fabric::rules
