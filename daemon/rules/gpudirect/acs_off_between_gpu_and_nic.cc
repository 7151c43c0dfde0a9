#include "base/text.h"
#include "daemon/rules/pcie/peer_paths.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

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

void Fail(const fleet::NodeView& node, const std::set<std::string_view>& bridges, Verdicts& out) {
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
                                 .note = "Until the next boot. Lasting: off in the BIOS, or a "
                                         "unit that does this at boot. iommu=pt does not do it."}));
  }
  out.Fail(SubjectOf(node),
           Format("ACS redirects traffic between GPU and NIC on {} bridge{}, expected none: {}",
                  names.size(), names.size() == 1 ? "" : "s", Listed(names)),
           std::move(evidence), std::move(remedies));
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.gpu_nic_paths().empty() || IsVirtualMachine(snapshot)) return;
  const auto bridges = RedirectingBridges(node);
  if (!bridges.empty())
    Fail(node, bridges, out);
  else
    out.Pass();
}

}  // namespace

extern const Rule acs_off_between_gpu_and_nic = {
    .id = "acs_off_between_gpu_and_nic",
    .title = "On bare metal no bridge between a GPU and its NIC redirects peer traffic (ACS)",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "With access control on, a PCIe switch sends what a NIC reads from a GPU next to it up to "
        "the processor and back: GPUDirect RDMA is slow, hangs, or ends in protection errors. "
        "The kernel switches it on wherever it finds an IOMMU, also with iommu=pt, and some "
        "BIOSes do. In virtual machines it has to stay on; bridges elsewhere do not matter.",
    .source =
        "NCCL user guide, troubleshooting, PCI Access Control Services; kernel "
        "drivers/pci/pci.c (pci_std_enable_acs)",
    .needs = {Input::kGpuNicPaths},
    .access = Access::kSysAdmin,
    .fix = "setpci -s BRIDGE ECAP_ACS+0x6.w=0000 at each boot, or the BIOS",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
