#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Totals since boot, whose time is not known: a few come with booting, and only one that is far
// from its equals says something.
constexpr std::uint64_t kCorrectableMin = 10'000;
constexpr std::uint64_t kNonfatalMin = 100;
constexpr std::uint64_t kTimes = 100;

using Total = std::uint64_t (v1::PciFunction::*)() const;

// The most that another NIC of the model has; nothing with fewer than two others.
std::optional<std::uint64_t> MostOfOthers(const fleet::NodeView& node, const fleet::PortView& port,
                                          Total total) {
  std::size_t others = 0;
  std::uint64_t most = 0;
  for (const fleet::PortView& other : node.ports) {
    if (&other == &port || !other.rail || other.device->model() != port.device->model()) continue;
    const v1::PciFunction* const function = FunctionOf(other);
    if (function == nullptr || !function->has_aer_nonfatal()) continue;
    ++others;
    most = std::max(most, (function->*total)());
  }
  return others < 2 ? std::nullopt : std::optional(most);
}

bool JudgeTotal(const fleet::NodeView& node, const fleet::PortView& port,
                const v1::PciFunction& function, Total total, std::string_view kind,
                Verdicts& out) {
  const auto most = MostOfOthers(node, port, total);
  const std::uint64_t seen = (function.*total)();
  if (!most || seen / kTimes < std::max<std::uint64_t>(*most, 1)) return false;
  out.Fail(
      DeviceSubject(port),
      Format("PCIe {} errors of {}: {}, expected at most {} as on its equals", kind,
             port.device->name(), seen, *most),
      {ToEvidence(*port.node, {.what = Format("PCIe {} errors since boot", kind),
                               .expected = Format("at most {}", *most),
                               .seen = Format("{}", seen),
                               .source = PciFile(function.address(), Format("aer_dev_{}", kind)),
                               .basis = "other NICs of this model in the node"})},
      {ToRemedy(
          {.command = Format("cat /{}", PciFile(function.address(), Format("aer_dev_{}", kind))),
           .note = "Tells the kind: BadTLP, BadDLLP and RxErr mean a bad contact. "
                   "Drain the node and reseat the card; exchange card or riser when "
                   "they come back."})});
  return true;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const fleet::PortView& port : node.ports) {
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

}  // namespace

extern const Rule pcie_errors_like_equals = {
    .id = "pcie_errors_like_equals",
    .title = "No NIC has a hundred times the PCIe errors of its equals in the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_DEVICE,
    .why =
        "Correctable errors are sent again, which costs bandwidth and latency, and announce a "
        "link that will train down or fail. One NIC among equals with thousands of them has a "
        "bad contact. A few, or many on all, say nothing.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats",
    .needs = {Input::kPciFunctions},
    .fix = "reseat or exchange the card or its riser",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
