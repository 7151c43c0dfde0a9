#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

constexpr std::uint64_t kOpen = 1;
constexpr std::uint64_t kClosed = 2;

std::optional<Value> Driver(const Member& member) {
  const v1::GpuDriver& driver = member.snapshot().peer_memory().gpu_driver();
  if (member.node->ports.empty() || driver.version().empty()) return {};
  if (driver.name() != "nvidia") return Value{.text = driver.version()};
  if (!driver.has_open_module()) return {};
  return Value{.number = driver.open_module() ? kOpen : kClosed, .text = driver.version()};
}

std::string Show(const Value& value) {
  if (value.number == 0) return std::string(value.text);
  return Format("{} ({} module)", value.text, value.number == kOpen ? "open" : "closed");
}

std::string Source(const Member& member) {
  return member.snapshot().peer_memory().gpu_driver().name() == "nvidia"
             ? "proc/driver/nvidia/version"
             : "sys/module/amdgpu/version";
}

std::vector<v1::Remedy> Remedies(const Member&, const Value& expected) {
  return {
      ToRemedy({.command = Format("cat /sys/module/nvidia/version  # expected {}", Show(expected)),
                .interrupts_traffic = true,
                .note = "Install the driver of the others; the open module has packages of "
                        "its own (nvidia-open). Without it there is no dma-buf."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "GPU driver",
                                            .of_nodes = true,
                                            .group = ByProduct,
                                            .value = Driver,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule gpu_driver_equal = {
    .id = "gpu_driver_equal",
    .title = "Nodes of one product have one GPU driver, open or closed alike",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_NODE,
    .why =
        "The driver decides how RDMA reaches the GPU: peer memory or dma-buf, and dma-buf with "
        "NVIDIA's open module only. One node with another driver takes another way, or none.",
    .source = "NVIDIA open GPU kernel modules; NVIDIA GPU Operator, GPUDirect RDMA",
    .needs = {Input::kPeerMemory},
    .fix = "install the same driver",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
