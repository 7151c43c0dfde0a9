#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// acs_off_between_gpu_and_nic

std::string Registers(const v1::NodeSnapshot& snapshot, std::string_view bridge) {
  const v1::PciFunction* const function = FindFunction(snapshot, bridge);
  if (function == nullptr || !function->has_acs()) return "redirect on";
  constexpr std::pair<std::uint32_t, std::string_view> kBits[] = {
      {4, "ReqRedir"}, {8, "CmpltRedir"}, {16, "UpstreamFwd"}, {32, "EgressCtrl"}};
  std::vector<std::string> on;
  for (const auto& [bit, name] : kBits)
    if ((function->acs().control() & bit) != 0) on.emplace_back(name);
  return Join(on, ", ");
}

void FailAcs(const fleet::NodeView& node, const std::set<std::string_view>& bridges,
             Verdicts& out) {
  std::vector<std::string> names(bridges.begin(), bridges.end());
  std::vector<v1::Evidence> evidence;
  std::vector<v1::Remedy> remedies;
  for (const std::string& bridge : names) {
    if (evidence.size() >= kListedMax) break;
    evidence.push_back(ToEvidence(*node.node, {.what = "ACS of bridge " + bridge,
                                               .expected = "no redirect",
                                               .seen = Registers(node.node->snapshot, bridge),
                                               .source = PciFile(bridge, "config"),
                                               .basis = "rule"}));
    remedies.push_back(ToRemedy({.command = Format("setpci -s {} ECAP_ACS+0x6.w=0000", bridge),
                                 .note = "Lost at the next boot. To make it permanent, switch ACS "
                                         "off in the BIOS, or run this in a unit at boot. "
                                         "iommu=pt does not switch it off."}));
  }
  out.Fail(SubjectOf(node),
           Format("ACS redirects traffic between GPU and NIC on {} bridge{}, expected none: {}",
                  names.size(), names.size() == 1 ? "" : "s", Listed(names)),
           std::move(evidence), std::move(remedies));
}

void JudgeAcs(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.gpu_nic_paths().empty() || IsVirtualMachine(snapshot)) return;
  const auto bridges = RedirectingBridges(node);
  if (!bridges.empty())
    FailAcs(node, bridges, out);
  else
    out.Pass();
}

// iommu_passes_through

// A GPU or NIC that the host uses. A bridge has its own group, which does not matter.
bool Matters(const v1::PciFunction& function) {
  return function.has_iommu_type() && !IsBridge(function) && function.iommu_type() != "blocked" &&
         function.iommu_type() != "unmanaged" && !function.driver().starts_with("vfio");
}

void FailIommu(const fleet::NodeView& node, const std::vector<const v1::PciFunction*>& wrong,
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
      {expected == "identity" ? AddKernelParameters("iommu=pt")
                              : RemoveKernelParameters("iommu=pt")});
}

void JudgeIommu(const fleet::NodeView& node, Verdicts& out) {
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
                       // DMA and DMA-FQ differ in flushing only.
                       (IsTranslated(function) && node.expected().iommu_type().starts_with("DMA")));
    if (!fits && OwnerOf(node, function).judged) wrong.push_back(&function);
  }
  if (!wrong.empty()) {
    // One setting causes both: redirected traffic goes through the IOMMU.
    if (!by_profile && !RedirectingBridges(node).empty()) return;
    FailIommu(node, wrong, by_profile ? node.expected().iommu_type() : "identity",
              by_profile ? ProfileBasis(*node.expectation) : "GPUs and RDMA in one node", out);
  } else if (any) {
    out.Pass();
  }
}

}  // namespace

extern const Rule acs_off_between_gpu_and_nic = {
    .id = "acs_off_between_gpu_and_nic",
    .title = "On bare metal no bridge between a GPU and its NIC redirects peer traffic (ACS)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "With access control on, a PCIe switch sends the traffic between a NIC and a GPU next to "
        "it up to the processor and back: GPUDirect RDMA is slow, hangs, or ends in protection "
        "errors. The kernel switches it on if it finds an IOMMU, also with iommu=pt, and some "
        "BIOSes do so. In virtual machines it must stay on; other bridges do not matter.",
    .source =
        "NCCL user guide, troubleshooting, PCI Access Control Services; kernel "
        "drivers/pci/pci.c (pci_std_enable_acs)",
    .needs = {Input::kGpuNicPaths},
    .access = Access::kSysAdmin,
    .fix = "setpci -s BRIDGE ECAP_ACS+0x6.w=0000 at each boot, or the BIOS",
    .evaluate_node = JudgeAcs,
};

extern const Rule iommu_passes_through = {
    .id = "iommu_passes_through",
    .title = "On bare metal with GPUs and RDMA, the IOMMU does not translate NICs and GPUs",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "With translation, every access of a NIC needs a lookup, and peer traffic cannot take the "
        "direct path: RDMA loses bandwidth, and GPUDirect may hang. It is the default of many "
        "distributions without iommu=pt.",
    .source =
        "kernel Documentation/ABI/testing/sysfs-kernel-iommu_groups; AMD Instinct and "
        "NVIDIA GPUDirect guides (iommu=pt)",
    .needs = {Input::kPciFunctions},
    .profile = {v1::Expectations::kIommuTypeFieldNumber},
    .fix = "iommu=pt on the kernel command line",
    .evaluate_node = JudgeIommu,
};

}  // namespace fabric::rules
