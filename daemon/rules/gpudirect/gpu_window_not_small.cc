#include "base/text.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::uint64_t kSmall = std::uint64_t{256} << 20;

// One of the same kind in the node that shows more of itself; nullptr: none.
const v1::Gpu* LargerEqual(const v1::NodeSnapshot& snapshot, const v1::Gpu& gpu) {
  for (const v1::Gpu& other : snapshot.gpus())
    if (other.device_id() == gpu.device_id() && other.vendor_id() == gpu.vendor_id() &&
        other.bar1_bytes() > gpu.bar1_bytes())
      return &other;
  return nullptr;
}

void Fail(const fleet::NodeView& node, const v1::Gpu& gpu, const v1::Gpu* larger, Verdicts& out) {
  const std::string seen = Format("{} MiB", gpu.bar1_bytes() >> 20);
  const std::string expected =
      larger != nullptr ? Format("{} MiB", larger->bar1_bytes() >> 20) : "more than 256 MiB";
  out.Fail(SubjectOf(node),
           Format("memory window of GPU {} is {}, expected {}", gpu.pci_address(), seen, expected),
           {ToEvidence(*node.node, {.what = "memory window (BAR1) of GPU " + gpu.pci_address(),
                                    .expected = expected,
                                    .seen = seen,
                                    .source = PciFile(gpu.pci_address(), "resource"),
                                    .basis = larger != nullptr
                                                 ? "GPU " + larger->pci_address() + " of this kind"
                                                 : "rule"})},
           {ToRemedy({.command = "nvidia-smi -q -d MEMORY | grep -A3 BAR1",
                      .interrupts_traffic = true,
                      .note = "Set 'Above 4G decoding' and 'Resizable BAR' in the BIOS; some "
                              "workstation cards also need their display mode off."})},
           gpu.pci_address());
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (node.ports.empty()) return;
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (!gpu.has_bar1_bytes() || !IsInUse(gpu)) continue;
    const v1::Gpu* const larger = LargerEqual(snapshot, gpu);
    if (larger != nullptr)
      Fail(node, gpu, larger, out);
    else if (gpu.bar1_bytes() <= kSmall && node.expected().gpudirect())
      Fail(node, gpu, nullptr, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule gpu_window_not_small = {
    .id = "gpu_window_not_small",
    .title = "NICs can reach as much of a GPU's memory as on other GPUs of its kind",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "RDMA reaches GPU memory through a window (BAR1). With a small one, 256 MiB by default on "
        "many boards, registering more fails, or is staged through the host. Judged against GPUs "
        "of the same kind, and by itself where the profile says that jobs use GPUDirect.",
    .source =
        "NVIDIA GPUDirect RDMA documentation, BAR sizes; AMD Instinct system guides (large "
        "BAR)",
    .needs = {Input::kGpus},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .fix = "'Above 4G decoding' and 'Resizable BAR' in the BIOS",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
