#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// gpu_count_equal

// A node with an unreadable PCI bus has no GPUs and a gap.
std::optional<Value> Count(const Member& member) {
  const v1::NodeSnapshot& snapshot = member.snapshot();
  if (member.node->ports.empty()) return {};
  if (snapshot.gpus().empty())
    for (const v1::Gap& gap : snapshot.gaps())
      if (gap.inspector() == "gpus") return {};
  return Value{static_cast<std::uint64_t>(snapshot.gpus_size())};
}

// Nodes of unknown product are compared only with other nodes with GPUs.
std::optional<Group> ByProductOrGpus(const Member& node) {
  if (!node.snapshot().host().product().empty()) return ByProduct(node);
  if (node.snapshot().gpus().empty()) return {};
  return Group{.rail = {}, .like = "GPUs", .part = ProductOf(*node.node)};
}

std::vector<v1::Remedy> FindGpu(const Member&, const Value&) {
  return {Query({.command = "lspci -nn | grep -E '0302|0300|1200|0380'",
                 .note = "A GPU that does not appear on the PCI bus needs a cold boot. Then "
                         "check its power and seat."})};
}

constexpr EqualityRule kCount[] = {
    {.what = "number of GPUs",
     .of_nodes = true,
     .group = ByProductOrGpus,
     .value = Count,
     .expected = NumberOf<&v1::Expectations::has_gpus, &v1::Expectations::gpus>,
     .source = [](const Member&) { return std::string("sys/bus/pci/devices"); },
     .remedies = FindGpu}};

// gpu_driver_equal

constexpr std::uint64_t kOpen = 1;
constexpr std::uint64_t kClosed = 2;

std::optional<Value> Driver(const Member& member) {
  const v1::GpuDriver& driver = member.snapshot().peer_memory().gpu_driver();
  if (member.node->ports.empty() || driver.version().empty()) return {};
  if (driver.name() != "nvidia") return Value{.text = driver.version()};
  if (!driver.has_open_module()) return {};
  return Value{.number = driver.open_module() ? kOpen : kClosed, .text = driver.version()};
}

std::string ShowDriver(const Value& value) {
  if (value.number == 0) return std::string(value.text);
  return Format("{} ({} module)", value.text, value.number == kOpen ? "open" : "closed");
}

std::string DriverSource(const Member& member) {
  return member.snapshot().peer_memory().gpu_driver().name() == "nvidia"
             ? "proc/driver/nvidia/version"
             : "sys/module/amdgpu/version";
}

std::vector<v1::Remedy> InstallDriver(const Member& member, const Value& expected) {
  const bool nvidia = member.snapshot().peer_memory().gpu_driver().name() == "nvidia";
  return {Query({.command = Format("cat /{}", DriverSource(member)),
                 .note = Format("Expected {}. Drain the node, install the driver of the other "
                                "nodes and reboot.{}",
                                ShowDriver(expected),
                                nvidia ? " The open module has its own packages (nvidia-open); "
                                         "dma-buf needs it."
                                       : "")})};
}

constexpr EqualityRule kDriver[] = {{.what = "GPU driver",
                                     .of_nodes = true,
                                     .group = ByProduct,
                                     .value = Driver,
                                     .show = ShowDriver,
                                     .source = DriverSource,
                                     .remedies = InstallDriver}};

// gpu_window_not_small

constexpr std::uint64_t kSmall = std::uint64_t{256} << 20;

// A GPU of the same kind in the node with a larger window; nullptr if there is none.
const v1::Gpu* LargerEqual(const v1::NodeSnapshot& snapshot, const v1::Gpu& gpu) {
  for (const v1::Gpu& other : snapshot.gpus())
    if (other.device_id() == gpu.device_id() && other.vendor_id() == gpu.vendor_id() &&
        other.bar1_bytes() > gpu.bar1_bytes())
      return &other;
  return nullptr;
}

void FailWindow(const fleet::NodeView& node, const v1::Gpu& gpu, const v1::Gpu* larger,
                Verdicts& out) {
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
                                                 ? "GPU " + larger->pci_address() + " of this model"
                                                 : "rule"})},
           {Query({.command = Format("lspci -vv -s {} | grep Region", gpu.pci_address()),
                   .note = "Set 'Above 4G decoding' and 'Resizable BAR' in the BIOS. Some "
                           "workstation cards also need their display mode off."})},
           gpu.pci_address());
}

void JudgeWindows(const fleet::NodeView& node, Verdicts& out) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (node.ports.empty()) return;
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (!gpu.has_bar1_bytes() || !IsInUse(gpu)) continue;
    const v1::Gpu* const larger = LargerEqual(snapshot, gpu);
    if (larger != nullptr)
      FailWindow(node, gpu, larger, out);
    else if (gpu.bar1_bytes() <= kSmall && node.expected().gpudirect())
      FailWindow(node, gpu, nullptr, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule gpu_count_equal = {
    .id = "gpu_count_equal",
    .title = "Nodes of one product have the same number of GPUs",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_NODE,
    .why =
        "A GPU that fell off the bus leaves its NIC without a partner. Jobs that need all GPUs "
        "fail, or run on the wrong ones.",
    .source = "kernel Documentation/ABI/testing/sysfs-bus-pci",
    .needs = {Input::kGpus},
    .profile = {v1::Expectations::kGpusFieldNumber},
    .reads = {{.field = Field::kGpus}},
    .fix = "cold-boot the node; check the GPU's seat and power",
    .equality_rules = kCount,
};

extern const Rule gpu_driver_equal = {
    .id = "gpu_driver_equal",
    .title = "Nodes of one product have the same GPU driver, with the same open or closed module",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The driver decides how RDMA reaches the GPU: peer memory or dma-buf, and dma-buf with "
        "NVIDIA's open module only. A node with another driver uses another path, or none.",
    .source = "NVIDIA open GPU kernel modules; NVIDIA GPU Operator, GPUDirect RDMA",
    .needs = {Input::kPeerMemory},
    .reads = {{.field = Field::kGpuDriver, .applies = HasGpusInUse}},
    .fix = "install the same driver",
    .equality_rules = kDriver,
};

extern const Rule gpu_window_not_small = {
    .id = "gpu_window_not_small",
    .title = "NICs can reach as much of a GPU's memory as on other GPUs of its model",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "RDMA reaches GPU memory through a window (BAR1). With a small window, 256 MiB by default "
        "on many boards, registration of more memory fails, or data goes through the host. The "
        "window is compared with other GPUs of the model, and judged alone if the profile says "
        "that jobs use GPUDirect.",
    .source =
        "NVIDIA GPUDirect RDMA documentation, BAR sizes; AMD Instinct system guides (large "
        "BAR)",
    .needs = {Input::kGpus},
    .profile = {v1::Expectations::kGpudirectFieldNumber},
    .reads = {{.field = Field::kGpuWindow, .applies = HasGpusInUse}},
    .fix = "'Above 4G decoding' and 'Resizable BAR' in the BIOS",
    .evaluate_node = JudgeWindows,
};

}  // namespace fabric::rules
