#include "agents/inspect/dma_buf.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr KernelVersion kFirstKernel{.major = 5, .minor = 12};  // ib_umem_dmabuf_get()
constexpr KernelVersion kLastSeen{.major = 6, .minor = 12};     // What the table is known for

struct DriverRow {
  std::string_view driver;
  std::optional<KernelVersion> since;  // Certain from here on; absent: not up to kLastSeen.
};

constexpr DriverRow kDrivers[] = {
    {"mlx5_core", KernelVersion{5, 12}},
    {"efa", KernelVersion{5, 16}},
    {"ice", KernelVersion{6, 12}},
    {"i40e", KernelVersion{6, 12}},
    {"irdma", KernelVersion{6, 12}},
    {"bnxt_en", KernelVersion{6, 12}},
    {"bnxt_re", KernelVersion{6, 12}},
    {"mlx4_core", {}},
    {"qede", {}},
    {"cxgb4", {}},
    {"hns3", {}},
    {"hfi1", {}},
};

// One of the three requirements, with a reason.
struct Need {
  std::optional<bool> met;
  std::string words;
};

Need KernelNeed(const DmaBufFacts& facts) {
  const auto seen = [](const DmaBufDevice& device) { return device.takes == true; };
  if (std::any_of(facts.devices.begin(), facts.devices.end(), seen))
    return {.met = true, .words = {}};
  const auto kernel = ParseKernelVersion(facts.kernel_release);
  if (!kernel) return {.met = {}, .words = "the kernel version is unknown"};
  if (*kernel >= kFirstKernel) return {.met = true, .words = {}};
  // Red Hat brings new code to old version numbers.
  if (facts.kernel_release.find(".el") != std::string::npos)
    return {
        .met = {},
        .words = Format("kernel {} is a distribution kernel with backports", facts.kernel_release)};
  return {.met = false, .words = Format("kernel {} is older than 5.12", facts.kernel_release)};
}

Need GpuNeed(const DmaBufFacts& facts) {
  const auto has = [&](std::string_view driver) {
    return std::count(facts.gpu_drivers.begin(), facts.gpu_drivers.end(), driver) > 0;
  };
  if (has("amdgpu")) return {.met = true, .words = "amdgpu"};
  if (!has("nvidia")) return {.met = false, .words = "no GPU has a driver that exports dma-bufs"};
  if (!facts.nvidia_open)
    return {.met = {}, .words = "unknown whether the NVIDIA module is the open one"};
  if (*facts.nvidia_open) return {.met = true, .words = "the open NVIDIA module"};
  return {.met = false, .words = "the NVIDIA module is the closed one"};
}

std::optional<bool> Takes(const DmaBufDevice& device, const std::optional<KernelVersion>& kernel) {
  if (device.takes || !kernel) return device.takes;
  return DriverTakesDmaBuf(device.driver, *kernel);
}

Need DeviceNeed(const DmaBufFacts& facts, v1::DmaBuf& out) {
  const auto kernel = ParseKernelVersion(facts.kernel_release);
  std::vector<std::string> unsure;
  bool asked = false;
  for (const DmaBufDevice& device : facts.devices) {
    const std::optional<bool> takes = Takes(device, kernel);
    if (takes == true) {
      out.add_devices(device.name);
      asked = asked || device.takes.has_value();
    } else if (!takes) {
      unsure.push_back(device.driver.empty() ? device.name : device.driver);
    }
  }
  if (out.devices_size() > 0)
    return {.met = true,
            .words = Format("{} of {} RDMA devices take dma-bufs{}", out.devices_size(),
                            facts.devices.size(), asked ? "" : " by driver and kernel version")};
  if (facts.devices.empty()) return {.met = false, .words = "no RDMA device on PCI"};
  if (unsure.empty()) return {.met = false, .words = "no RDMA driver here takes dma-bufs"};
  std::sort(unsure.begin(), unsure.end());
  unsure.erase(std::unique(unsure.begin(), unsure.end()), unsure.end());
  return {.met = {}, .words = Format("unknown whether {} registers dma-bufs", Join(unsure, ", "))};
}

}  // namespace

std::optional<bool> DriverTakesDmaBuf(std::string_view driver, const KernelVersion& kernel) {
  if (kernel < kFirstKernel) return std::nullopt;
  for (const DriverRow& row : kDrivers) {
    if (row.driver != driver) continue;
    if (row.since) return kernel >= *row.since ? std::optional(true) : std::nullopt;
    return kernel <= kLastSeen ? std::optional(false) : std::nullopt;
  }
  return std::nullopt;
}

v1::DmaBuf DecideDmaBuf(const DmaBufFacts& facts) {
  v1::DmaBuf out;
  const Need needs[] = {KernelNeed(facts), GpuNeed(facts), DeviceNeed(facts, out)};
  const auto words = [&](std::optional<bool> met) {
    std::vector<std::string> parts;
    for (const Need& need : needs)
      if (need.met == met && !need.words.empty()) parts.push_back(need.words);
    return Join(parts, "; ");
  };
  const auto any = [&](std::optional<bool> met) {
    return std::any_of(std::begin(needs), std::end(needs),
                       [&](const Need& need) { return need.met == met; });
  };
  const std::optional<bool> possible = any(false)          ? std::optional(false)
                                       : any(std::nullopt) ? std::nullopt
                                                           : std::optional(true);
  if (possible) out.set_possible(*possible);
  out.set_reason(words(possible));
  return out;
}

}  // namespace fabric::inspect
