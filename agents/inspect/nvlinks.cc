#include <algorithm>
#include <map>

#include "agents/inspect/attributes.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kNvlinksName = "nvlinks";
constexpr const char* kLibrary = "NVML";
constexpr const char* kControlNode = "dev/nvidiactl";

void Fill(const host::ManagedGpu& managed, v1::Gpu& gpu) {
  if (gpu.model().empty() && !managed.name.empty()) gpu.set_model(managed.name);
  if (gpu.uuid().empty() && !managed.uuid.empty()) gpu.set_uuid(managed.uuid);
  if (!managed.board_part_number.empty()) gpu.set_board_part_number(managed.board_part_number);
  std::uint32_t active = 0;
  for (const host::ManagedLink& each : managed.links) {
    v1::Nvlink& link = *gpu.add_links();
    link.set_index(each.index);
    link.set_active(each.active);
    active += each.active ? 1 : 0;
    if (each.remote_pci_address) link.set_remote_pci_address(*each.remote_pci_address);
    if (each.replay_errors) link.set_replay_errors(*each.replay_errors);
    if (each.recovery_errors) link.set_recovery_errors(*each.recovery_errors);
    if (each.crc_flit_errors) link.set_crc_flit_errors(*each.crc_flit_errors);
    if (each.crc_data_errors) link.set_crc_data_errors(*each.crc_data_errors);
  }
  // GPUs without NVLink have none: 0.
  gpu.set_nvlinks(static_cast<std::uint32_t>(managed.links.size()));
  gpu.set_nvlinks_active(active);
}

Status InspectNvlinks(const Host& host, v1::NodeSnapshot& out) {
  const Gaps gaps{.snapshot = out, .inspector = kNvlinksName, .subject = ""};
  std::map<std::string, v1::Gpu*> gpus;
  for (v1::Gpu& gpu : *out.mutable_gpus())
    if (gpu.driver() == "nvidia") gpus[gpu.pci_address()] = &gpu;
  if (gpus.empty()) return {};
  // Without its device nodes the library would have them made.
  if (!host.captured && !host.root.Has(kControlNode)) {
    gaps.Add(kControlNode, Status(Code::kNotFound, "the driver cannot be queried without it"));
    return {};
  }
  const Result<host::GpuManagementInfo> info = host.gpu_management.Read();
  if (!info.ok()) {
    gaps.Add(kLibrary, info.status());
    return {};
  }
  for (const host::ManagedGpu& managed : info->gpus)
    if (const auto gpu = gpus.extract(managed.pci_address)) Fill(managed, *gpu.mapped());
  for (const Status& failure : info->failures) gaps.Add(kLibrary, failure);
  // A GPU that failed has no address, so the failures stand for the GPUs that are left.
  for (const auto& [address, gpu] : gpus)
    if (info->failures.empty())
      Gaps{.snapshot = out, .inspector = kNvlinksName, .subject = address}.Add(
          kLibrary, Status(Code::kNotFound, "the library does not list this GPU"));
  if (!out.has_peer_memory()) return {};
  v1::GpuDriver& driver = *out.mutable_peer_memory()->mutable_gpu_driver();
  driver.set_nvml_version(info->library_version);
  if (!info->cuda_version.empty()) driver.set_cuda_version(info->cuda_version);
  if (!driver.has_version() && !info->driver_version.empty())
    driver.set_version(info->driver_version);
  return {};
}

}  // namespace

extern const Inspector nvlinks = {
    .name = kNvlinksName,
    .doc = "NVLinks of NVIDIA GPUs, and other data of their management library.",
    .inspect = InspectNvlinks,
    .wakes = EventKind::kHotplug | EventKind::kModule | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kGpusFieldNumber, v1::NodeSnapshot::kPeerMemoryFieldNumber},
};

}  // namespace fabric::inspect
