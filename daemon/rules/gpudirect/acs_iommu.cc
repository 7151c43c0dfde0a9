#include <algorithm>

#include "base/text.h"
#include "daemon/rules/kind.h"
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

// GPUs or NICs that belong to virtual machines: ACS separates these.
bool PassesThrough(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.driver().starts_with("vfio"); }) ||
         std::any_of(snapshot.pci_functions().begin(), snapshot.pci_functions().end(),
                     [](const v1::PciFunction& function) {
                       return !IsBridge(function) && function.driver().starts_with("vfio");
                     });
}

bool AllPassedThrough(const v1::NodeSnapshot& snapshot) {
  return !snapshot.gpus().empty() &&
         std::all_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.driver().starts_with("vfio"); });
}

v1::Remedy SwitchAcsOff(const fleet::NodeView& node, std::string_view bridge) {
  const v1::PciFunction* const function = FindFunction(node.node->snapshot, bridge);
  const std::string was =
      function != nullptr && function->has_acs() ? Format("{:04x}", function->acs().control()) : "";
  v1::Remedy remedy =
      SetPci({.address = bridge, .name = "ECAP_ACS+0x6.w", .value = "0000", .was = was},
             v1::REMEDY_REACH_NODE,
             "Takes the isolation between the devices below this bridge away: never on a host that "
             "passes devices through to virtual machines. iommu=pt does not switch ACS off.");
  remedy.set_weakens_isolation(true);
  return remedy;
}

void FailAcs(const fleet::NodeView& node, std::string_view ends,
             const std::set<std::string_view>& bridges, Verdicts& out) {
  std::vector<std::string> names(bridges.begin(), bridges.end());
  const bool passes_through = PassesThrough(node.node->snapshot);
  std::vector<v1::Evidence> evidence;
  std::vector<v1::Remedy> remedies;
  for (const std::string& bridge : names) {
    evidence.push_back(ToEvidence(*node.node, {.what = "ACS of bridge " + bridge,
                                               .expected = "no redirect",
                                               .seen = Registers(node.node->snapshot, bridge),
                                               .source = PciFile(bridge, "config"),
                                               .basis = "rule"}));
    if (!passes_through) remedies.push_back(SwitchAcsOff(node, bridge));
  }
  if (passes_through)
    remedies.push_back(
        Advice("GPUs or NICs of this host are passed through to virtual machines (vfio-pci): ACS "
               "isolates the machines from each other and must stay on. Let direct translated "
               "requests through instead: ATS on the NICs, and DirectTrans in the ACS of the "
               "bridges, as the vendor of the platform describes."));
  out.Fail(SubjectOf(node),
           Format("ACS redirects traffic between {} on {} bridge{}, expected none: {}", ends,
                  names.size(), names.size() == 1 ? "" : "s", Listed(names)),
           std::move(evidence), std::move(remedies));
}

void JudgeAcs(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (IsVirtualMachine(snapshot)) return;
  if (AllPassedThrough(snapshot)) return;  // Does not apply: ACS must stay on.
  if (snapshot.gpu_nic_paths().empty()) return;
  auto bridges = RedirectingBridges(node);
  const std::string_view ends = bridges.empty() ? "GPUs" : "GPU and NIC";
  bridges.merge(RedirectingBridgesBetweenGpus(snapshot));
  if (!bridges.empty())
    FailAcs(node, ends, bridges, out);
  else
    out.Pass();
}

// iommu_passes_through

// A GPU or NIC that the host uses. A bridge has its own group, which does not matter.
bool Matters(const v1::PciFunction& function) {
  return function.has_iommu_type() && !IsBridge(function) && function.iommu_type() != "blocked" &&
         function.iommu_type() != "unmanaged" && !function.driver().starts_with("vfio");
}

// Without translation a device can reach all memory. Devices of virtual machines stay translated.
v1::Remedy IommuRemedy(const v1::NodeSnapshot& snapshot, bool passthrough) {
  const std::string_view parameter = PassthroughParameter(snapshot);
  if (!passthrough) return RemoveKernelParameters(snapshot, parameter);
  v1::Remedy remedy = AddKernelParameters(
      snapshot, parameter,
      "Devices that the host uses then reach all of its memory; those of virtual machines (vfio) "
      "stay isolated.");
  return remedy;
}

void FailIommu(const fleet::NodeView& node, const std::vector<const v1::PciFunction*>& wrong,
               const std::string& expected, const std::string& basis, Verdicts& out) {
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const v1::PciFunction* function : wrong) {
    names.push_back(function->address());
    if (evidence.size() < kEvidenceMax)
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
      std::move(evidence), {IommuRemedy(node.node->snapshot, expected == "identity")});
}

void JudgeIommu(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const bool by_profile = node.expected().has_iommu_type();
  if (!by_profile && AllPassedThrough(snapshot) && !IsVirtualMachine(snapshot))
    return out.Pass();  // Devices of virtual machines must be translated.
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
  if (!wrong.empty())
    FailIommu(node, wrong, by_profile ? node.expected().iommu_type() : "identity",
              by_profile ? ProfileBasis(*node.expectation) : "GPUs and RDMA in one node", out);
  else if (any)
    out.Pass();
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
        "BIOSes do so. In virtual machines, and on hosts whose GPUs all belong to virtual "
        "machines, "
        "it must stay on. Bridges between GPUs matter for GPUs without NVLink, and root ports only "
        "where the IOMMU translates: with iommu=pt they pass traffic on. Other bridges do not "
        "matter.",
    .source =
        "NCCL user guide, troubleshooting, PCI Access Control Services; kernel "
        "drivers/pci/pci.c (pci_std_enable_acs)",
    .needs = {Input::kGpuNicPaths},
    .access = Access::kSysAdmin,
    .reads = {{.field = Field::kAcs, .applies = HasGpusInUse}},
    .fix =
        "setpci -s BRIDGE ECAP_ACS+0x6.w=0000 at each boot, or the BIOS; not for virtual machines",
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
    .reads = {{.field = Field::kIommuType, .profile = v1::Expectations::kIommuTypeFieldNumber},
              {.field = Field::kIommuType, .applies = HasGpusInUse}},
    .fix = "iommu=pt (x86) or iommu.passthrough=1 (arm64) on the kernel command line",
    .evaluate_node = JudgeIommu,
};

}  // namespace fabric::rules
