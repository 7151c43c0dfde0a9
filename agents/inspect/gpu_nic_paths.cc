#include "agents/inspect/inspector.h"
#include "agents/inspect/pci_distance.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kGpuNicPathsName = "gpu_nic_paths";

// "0", not "0-1" or "0,2".
bool HasOneNumaNode(const Host& host) {
  const Result<std::string> nodes = host.root.Text("sys/devices/system/node/online");
  return nodes.ok() && ParseNumber<std::uint32_t>(*nodes).ok();
}

// pci_functions sets ats_capable of every bridge whose extended registers it could read.
bool AccessControlIsKnown(const v1::PciFunction* bridge) {
  return bridge != nullptr && (bridge->has_acs() || bridge->has_ats_capable());
}

void SetAccessControl(const PciFunctions& functions, v1::GpuNicPath& path) {
  path.set_acs_known(path.distance() != v1::PCI_DISTANCE_UNSPECIFIED);
  for (const std::string& address : path.bridges()) {
    const v1::PciFunction* const bridge = functions.Find(address);
    if (!AccessControlIsKnown(bridge))
      path.set_acs_known(false);
    else if (bridge->acs().redirects())
      path.add_acs_redirects(address);
  }
}

void AddPath(const v1::Gpu& gpu, const v1::RdmaDevice& device, const PciFunctions& functions,
             bool one_numa_node, v1::GpuNicPath& path) {
  path.set_gpu(gpu.pci_address());
  path.set_device(device.name());
  const v1::PciFunction* const from = functions.Find(gpu.pci_address());
  const v1::PciFunction* const to = functions.Find(device.pci_address());
  if (from == nullptr || to == nullptr) {
    path.set_reason(
        Format("{} was not read", from == nullptr ? gpu.pci_address() : device.pci_address()));
    return;
  }
  PciDistanceFound found = Distance(*from, *to, functions, one_numa_node);
  path.set_distance(found.distance);
  path.set_reason(found.reason);
  path.mutable_bridges()->Add(found.bridges.begin(), found.bridges.end());
  SetAccessControl(functions, path);
}

Status InspectPaths(const Host& host, v1::NodeSnapshot& out) {
  const PciFunctions functions(out);
  const bool one_numa_node = HasOneNumaNode(host);
  for (const v1::Gpu& gpu : out.gpus())
    for (const v1::RdmaDevice& device : out.rdma_devices())
      if (device.has_pci_address())
        AddPath(gpu, device, functions, one_numa_node, *out.add_gpu_nic_paths());
  return {};
}

}  // namespace

extern const Inspector gpu_nic_paths = {
    .name = kGpuNicPathsName,
    .doc = "Distance of each GPU to each RDMA device, and redirecting bridges (ACS) between them.",
    .inspect = InspectPaths,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kModule | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kGpuNicPathsFieldNumber},
};

}  // namespace fabric::inspect
