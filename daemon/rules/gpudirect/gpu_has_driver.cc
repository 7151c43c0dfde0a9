#include <algorithm>

#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

bool IsSameGpuType(const v1::Gpu& a, const v1::Gpu& b) {
  return a.vendor_id() == b.vendor_id() && a.device_id() == b.device_id();
}

// Drivers of displays, without CUDA, ROCm and peer memory.
bool CannotCompute(const v1::Gpu& gpu) {
  return gpu.driver() == "nouveau" || gpu.driver() == "radeon";
}

// The driver of an equal GPU, for a GPU that needs one. A graphics card (class 0300) may drive a
// console only: it needs a driver if an equal GPU has one.
std::optional<std::string> DriverNeeded(const v1::NodeSnapshot& snapshot, const v1::Gpu& gpu) {
  for (const v1::Gpu& other : snapshot.gpus())
    if (other.has_driver() && !CannotCompute(other) && IsSameGpuType(gpu, other))
      return other.driver();
  const v1::PciFunction* const function = FindFunction(snapshot, gpu.pci_address());
  if (function == nullptr || function->class_code().starts_with("0300")) return {};
  return gpu.vendor_id() == "10de" ? "nvidia" : gpu.vendor_id() == "1002" ? "amdgpu" : "a driver";
}

// Guests may have a virtual GPU that no job uses.
bool AreGpusInUse(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  return snapshot.host().virtualization() == "none" || node.expected().gpus() > 0 ||
         snapshot.peer_memory().gpu_driver().has_name() ||
         std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(),
                     [](const v1::Gpu& gpu) { return gpu.has_driver(); });
}

bool IsGpuDriverUnread(const v1::NodeSnapshot& snapshot, const v1::Gpu& gpu) {
  return std::any_of(snapshot.gaps().begin(), snapshot.gaps().end(), [&](const v1::Gap& gap) {
    return gap.path() == PciFile(gpu.pci_address(), "driver") ||
           (gap.inspector() == "pci_functions" && gap.subject().empty() &&
            gap.path().ends_with("/driver"));
  });
}

void JudgeGpuDrivers(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (!AreGpusInUse(node)) return;
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  std::string driver;
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (gpu.has_driver() && !CannotCompute(gpu)) {
      out.Pass();
      continue;
    }
    const std::optional<std::string> needed = DriverNeeded(snapshot, gpu);
    if (!needed) continue;
    const std::string source = PciFile(gpu.pci_address(), "driver");
    if (IsGpuDriverUnread(snapshot, gpu)) {
      Unreadable({.node = &node}, "driver of GPU " + gpu.pci_address(), source, out,
                 gpu.pci_address());
      continue;
    }
    driver = *needed;
    names.push_back(gpu.pci_address());
    if (evidence.size() < kEvidenceMax)
      evidence.push_back(ToEvidence(*node.node, {.what = "driver of GPU " + gpu.pci_address(),
                                                 .expected = driver,
                                                 .seen = gpu.has_driver() ? gpu.driver() : "none",
                                                 .source = source,
                                                 .basis = "rule"}));
  }
  if (names.empty()) return;
  out.Fail(SubjectOf(node),
           Format("{} GPU{} without a compute driver, expected {}: {}", names.size(),
                  names.size() == 1 ? "" : "s", driver, Listed(names)),
           std::move(evidence),
           {Query({.command = Format("lspci -nnk -s {0}; dmesg -T | grep {0}", names[0]),
                   .note = "Shows why the driver did not load, or gave the GPU up. A GPU that "
                           "fell off the bus needs a cold boot."})});
}

}  // namespace

extern const Rule gpu_has_driver = {
    .id = "gpu_has_driver",
    .title = "Every GPU has a compute driver",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "Jobs do not see a GPU without a driver, or with one for displays (nouveau). They fail for "
        "lack of GPUs, or use another GPU "
        "and another NIC than planned. A graphics card is judged only if an equal one has a "
        "driver; a guest, if it has a GPU driver or the profile expects GPUs.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci",
    .needs = {Input::kGpus, Input::kPciFunctions},
    .profile = {v1::Expectations::kGpusFieldNumber},
    .fix = "dmesg shows why the driver did not bind; cold-boot the node",
    .evaluate_node = JudgeGpuDrivers,
};

}  // namespace fabric::rules
