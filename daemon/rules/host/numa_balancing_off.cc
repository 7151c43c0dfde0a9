#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::string_view kName = "kernel.numa_balancing";

bool HasAmdGpu(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.driver() == "amdgpu"; });
}

// With AMD's GPUs only, whose guide asks for it; elsewhere opinions differ.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (node.ports.empty() || snapshot.host().numa_nodes() < 2 || !HasAmdGpu(snapshot)) return;
  const auto& sysctls = snapshot.host().sysctls();
  const auto found = std::find_if(sysctls.begin(), sysctls.end(),
                                  [](const v1::Sysctl& s) { return s.name() == kName; });
  if (found == sysctls.end()) return;
  if (found->value() == "0") return out.Pass();
  out.Fail(SubjectOf(node), Format("{} is {}, expected 0 with AMD GPUs", kName, found->value()),
           {ToEvidence(*node.node, {.what = std::string(kName),
                                    .expected = "0",
                                    .seen = found->value(),
                                    .source = "proc/sys/kernel/numa_balancing",
                                    .basis = "AMD Instinct system optimization guide"})},
           {ToRemedy({.command = "sysctl -w kernel.numa_balancing=0",
                      .note = "Also in /etc/sysctl.d, or a reboot undoes it."})});
}

}  // namespace

extern const Rule numa_balancing_off = {
    .id = "numa_balancing_off",
    .title = "On machines with AMD GPUs and several NUMA nodes automatic NUMA balancing is off",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_NODE,
    .why =
        "The kernel unmaps pages now and then to see who uses them, and each time the GPU's "
        "mappings are made anew: collectives stutter.",
    .source =
        "AMD Instinct system optimization guide; kernel "
        "Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
    .needs = {Input::kHostLimits},
    .fix = "sysctl -w kernel.numa_balancing=0",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
