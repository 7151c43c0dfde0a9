#include "base/text.h"
#include "daemon/rules/pcie/peer_paths.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// Not a GPU or NIC: a bridge has a group of its own, which says nothing.
bool Matters(const v1::PciFunction& function) {
  return function.has_iommu_type() && !IsBridge(function) && function.iommu_type() != "blocked" &&
         function.iommu_type() != "unmanaged" && !function.driver().starts_with("vfio");
}

void Fail(const fleet::NodeView& node, const std::vector<const v1::PciFunction*>& wrong,
          const std::string& expected, const std::string& basis, Verdicts& out) {
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const v1::PciFunction* function : wrong) {
    names.push_back(function->address());
    if (evidence.size() < kListedMax)
      evidence.push_back(ToEvidence(
          *node.node, {.what = "IOMMU type of " + function->address(),
                       .expected = expected,
                       .seen = function->iommu_type(),
                       .source = Format("sys/kernel/iommu_groups/{}/type", function->iommu_group()),
                       .basis = basis}));
  }
  out.Fail(
      SubjectOf(node),
      Format("IOMMU type {}, expected {}: {}", wrong[0]->iommu_type(), expected, Listed(names)),
      std::move(evidence),
      {ToRemedy({.command = expected == "identity"
                                ? "add iommu=pt to the kernel's command line"
                                : "remove iommu=pt from the kernel's command line",
                 .interrupts_traffic = true,
                 .note = "Takes effect with the next boot (grubby --update-kernel=ALL "
                         "--args=iommu=pt, or GRUB_CMDLINE_LINUX and update-grub)."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const bool by_profile = node.expected().has_iommu_type();
  if (node.ports.empty() || snapshot.pci_functions().empty()) return;
  if (!by_profile && (!HasGpuInUse(snapshot) || IsVirtualMachine(snapshot))) return;
  std::vector<const v1::PciFunction*> wrong;
  bool any = false;
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    if (!function.has_iommu_type() || (!by_profile && !IsTranslated(function))) {
      any = any || function.has_iommu_type();
      continue;
    }
    if (!Matters(function)) continue;
    any = true;
    const bool fits =
        by_profile && (function.iommu_type() == node.expected().iommu_type() ||
                       // Two kinds of flushing of the same.
                       (IsTranslated(function) && node.expected().iommu_type().starts_with("DMA")));
    if (!fits && OwnerOf(node, function).judged) wrong.push_back(&function);
  }
  if (!wrong.empty()) {
    // One setting is behind both: what ACS redirects goes through the IOMMU.
    if (!by_profile && !RedirectingBridges(node).empty()) return;
    Fail(node, wrong, by_profile ? node.expected().iommu_type() : "identity",
         by_profile ? ProfileBasis(*node.expectation) : "GPUs and RDMA in one machine", out);
  } else if (any) {
    out.Pass();
  }
}

}  // namespace

extern const Rule iommu_passes_through = {
    .id = "iommu_passes_through",
    .title = "On bare metal with GPUs and RDMA the IOMMU translates neither NICs nor GPUs",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "With translation every access of a NIC is looked up, and peer traffic cannot take the "
        "short way: RDMA loses bandwidth, and GPUDirect may hang. It is the default of many "
        "distributions where iommu=pt is not given.",
    .source =
        "kernel Documentation/ABI/testing/sysfs-kernel-iommu_groups; AMD Instinct and "
        "NVIDIA GPUDirect guides (iommu=pt)",
    .needs = {Input::kPciFunctions},
    .profile = {v1::Expectations::kIommuTypeFieldNumber},
    .fix = "iommu=pt in the kernel's command line",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
