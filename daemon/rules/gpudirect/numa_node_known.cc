#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// In a capture the files may be missing: when one of them was read, all were.
bool WereRead(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.captured()) return true;
  return std::any_of(snapshot.pci_functions().begin(), snapshot.pci_functions().end(),
                     [](const v1::PciFunction& function) { return function.has_numa_node(); });
}

bool IsJudged(const fleet::NodeView& node, const v1::PciFunction& function) {
  if (IsBridge(function) || function.driver().empty() || function.driver().starts_with("vfio"))
    return false;
  return OwnerOf(node, function).judged;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.host().numa_nodes() < 2 || snapshot.gpus().empty() || node.ports.empty() ||
      snapshot.pci_functions().empty())
    return;
  std::vector<std::string> names;
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (!function.has_numa_node() && IsJudged(node, function)) names.push_back(function.address());
  if (names.empty()) return out.Pass();
  if (!WereRead(snapshot)) return;
  out.Fail(SubjectOf(node),
           Format("NUMA node of {} GPU{} or NIC{} not known, expected one of {}: {}", names.size(),
                  names.size() == 1 ? "" : "s", names.size() == 1 ? "" : "s",
                  snapshot.host().numa_nodes(), Listed(names)),
           {ToEvidence(*node.node, {.what = "NUMA node of " + names[0],
                                    .expected = Format("0 to {}", snapshot.host().numa_nodes() - 1),
                                    .seen = "-1",
                                    .source = PciFile(names[0], "numa_node"),
                                    .basis = Format("the machine has {} NUMA nodes",
                                                    snapshot.host().numa_nodes())})},
           {ToRemedy({.command = Format("cat /{}", PciFile(names[0], "numa_node")),
                      .note = "The BIOS does not tell (ACPI _PXM): update it, or set NUMA in it. "
                              "In a virtual machine give the guest the topology of the host "
                              "(NCCL_TOPO_FILE helps meanwhile)."})});
}

}  // namespace

extern const Rule numa_node_known = {
    .id = "numa_node_known",
    .title = "On a machine with several NUMA nodes those of its GPUs and NICs are known",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "Without it NCCL takes a NIC for far away, pairs GPUs with the wrong NICs, and threads "
        "and buffers land on the other socket.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci (numa_node)",
    .needs = {Input::kPciFunctions, Input::kGpus, Input::kHostFacts},
    .fix = "a BIOS that tells the NUMA node of its slots",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
