#include "daemon/rules/pcie/pci.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "daemon/rules/kind.h"

namespace fabric::rules {

using fleet::NodeView;
using fleet::PortView;

namespace {

bool IsTranslatedAt(const v1::NodeSnapshot& snapshot, std::string_view address) {
  const v1::PciFunction* const function = FindFunction(snapshot, address);
  return function != nullptr && IsTranslated(*function);
}

// Both ends send requests: the NIC most of them.
bool Translates(const v1::NodeSnapshot& snapshot, const v1::GpuNicPath& path) {
  if (IsTranslatedAt(snapshot, path.gpu())) return true;
  return std::ranges::any_of(snapshot.rdma_devices(), [&](const v1::RdmaDevice& device) {
    return device.name() == path.device() && IsTranslatedAt(snapshot, device.pci_address());
  });
}

// The GPU belongs to a virtual machine.
bool IsPassedThrough(const v1::NodeSnapshot& snapshot, std::string_view gpu) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(), [&](const v1::Gpu& each) {
    return each.pci_address() == gpu && each.driver().starts_with("vfio");
  });
}

// Paths to devices of the fabric, by GPU.
using Paths = std::map<std::string_view, std::vector<const v1::GpuNicPath*>>;

Paths ToFabric(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  Paths paths;
  std::set<std::string_view> fabric;
  for (const fleet::PortView& port : node.ports)
    if (port.rail) fabric.insert(port.device->name());
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths())
    if (path.distance() != v1::PCI_DISTANCE_UNSPECIFIED && fabric.contains(path.device()) &&
        !IsPassedThrough(snapshot, path.gpu()))
      paths[path.gpu()].push_back(&path);
  return paths;
}

bool IsGpuInUse(const fleet::NodeView& node, const v1::GpuNicPath& path) {
  const auto& gpus = node.node->snapshot.gpus();
  return std::any_of(gpus.begin(), gpus.end(), [&](const v1::Gpu& gpu) {
    return gpu.pci_address() == path.gpu() && IsInUse(gpu);
  });
}

// Calls `visit` for the paths on which redirection matters, if any path of the node is `wanted`.
template <class Visit>
void ForPeerPaths(const fleet::NodeView& node, bool (*wanted)(const v1::GpuNicPath&),
                  const Visit& visit) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto& all = snapshot.gpu_nic_paths();
  if (std::none_of(all.begin(), all.end(), wanted) || IsVirtualMachine(snapshot)) return;
  for (const auto& [gpu, paths] : ToFabric(node)) {
    v1::PciDistance nearest = v1::PCI_DISTANCE_SYS;
    for (const v1::GpuNicPath* path : paths) nearest = std::min(nearest, path->distance());
    for (const v1::GpuNicPath* path : paths) {
      if (path->distance() != nearest || nearest > v1::PCI_DISTANCE_PHB) continue;
      if (nearest == v1::PCI_DISTANCE_PHB && !Translates(snapshot, *path)) continue;
      visit(*path);
    }
  }
}

// GPUs of the host that are known to have no NVLink: their traffic takes PCIe.
std::vector<const v1::PciFunction*> GpusOnPcie(const v1::NodeSnapshot& snapshot) {
  std::vector<const v1::PciFunction*> gpus;
  for (const v1::Gpu& gpu : snapshot.gpus()) {
    if (!IsInUse(gpu) || !gpu.has_nvlinks() || gpu.nvlinks() != 0) continue;
    if (const v1::PciFunction* const function = FindFunction(snapshot, gpu.pci_address()))
      gpus.push_back(function);
  }
  return gpus;
}

// Calls `visit` for the bridges between two GPUs on which redirection matters: below a common
// switch, or below one host bridge if the IOMMU translates.
template <class Visit>
void ForBridgesBetween(const v1::PciFunction& a, const v1::PciFunction& b, const Visit& visit) {
  if (!a.has_root_complex() || a.root_complex() != b.root_complex()) return;
  int common = 0;
  while (common < std::min(a.path_size(), b.path_size()) && a.path(common) == b.path(common))
    ++common;
  if (common == 0 && !IsTranslated(a) && !IsTranslated(b)) return;
  for (const v1::PciFunction* const gpu : {&a, &b})
    for (int depth = common; depth < gpu->path_size(); ++depth) visit(gpu->path(depth));
}

template <class Visit>
void ForBridgesBetweenGpus(const v1::NodeSnapshot& snapshot, const Visit& visit) {
  if (IsVirtualMachine(snapshot)) return;
  const std::vector<const v1::PciFunction*> gpus = GpusOnPcie(snapshot);
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = a + 1; b < gpus.size(); ++b) ForBridgesBetween(*gpus[a], *gpus[b], visit);
}

}  // namespace

std::uint64_t BitsPerSecond(std::uint32_t megatransfers, std::uint32_t width) {
  // 8b/10b up to 5 GT/s, then 128b/130b, from 64 GT/s on flits of 236 in 256 bytes.
  const std::uint64_t raw = std::uint64_t{megatransfers} * width * 1'000'000;
  if (megatransfers <= 5000) return raw / 10 * 8;
  if (megatransfers < 64000) return raw / 130 * 128;
  return raw / 256 * 236;
}

std::uint64_t BitsPerSecond(const v1::PciLink& link) {
  return BitsPerSecond(link.speed_megatransfers_per_second(), link.width());
}

std::optional<LinkLimit> CommonLimit(const v1::PciFunction& function) {
  if (!function.has_link_max() || !function.has_slot_max()) return {};
  const v1::PciLink& device = function.link_max();
  const v1::PciLink& slot = function.slot_max();
  if (device.width() == 0 || slot.width() == 0 || device.speed_megatransfers_per_second() == 0 ||
      slot.speed_megatransfers_per_second() == 0)
    return {};
  return LinkLimit{.megatransfers = std::min(device.speed_megatransfers_per_second(),
                                             slot.speed_megatransfers_per_second()),
                   .width = std::min(device.width(), slot.width())};
}

bool IsNarrow(const v1::PciFunction& function) {
  if (!function.has_link() || function.link().width() == 0) return false;
  const auto limit = CommonLimit(function);
  return limit && function.link().width() < limit->width;
}

bool IsSlow(const v1::PciFunction& function) {
  if (!function.has_link() || function.link().speed_megatransfers_per_second() == 0) return false;
  const auto limit = CommonLimit(function);
  return limit && function.link().speed_megatransfers_per_second() < limit->megatransfers;
}

bool KeepsLinkSpeed(const v1::PciFunction& function) {
  constexpr std::string_view kSteady[] = {"mlx5_core", "mlx4_core", "bnxt_en", "ice", "ionic"};
  return std::find(std::begin(kSteady), std::end(kSteady), function.driver()) != std::end(kSteady);
}

std::string ShowSpeed(std::uint32_t megatransfers) {
  if (megatransfers % 1000 == 0) return Format("{} GT/s", megatransfers / 1000);
  return Format("{}.{} GT/s", megatransfers / 1000, megatransfers % 1000 / 100);
}

std::string ShowGigabits(std::uint64_t bits_per_second) {
  return Format("{} Gb/s", bits_per_second / 1'000'000'000);
}

std::string PciFile(std::string_view address, std::string_view file) {
  return Format("sys/bus/pci/devices/{}/{}", address, file);
}

bool IsBridge(const v1::PciFunction& function) {
  return function.class_code().starts_with("0604");
}

bool IsNetworkAdapter(const v1::PciFunction& function) {
  return function.class_code().starts_with("02");
}

bool IsWithinSwitch(const v1::NodeSnapshot& snapshot, const v1::PciFunction& bridge) {
  const auto is_pex = [](const v1::PciFunction& function) {
    const bool pex_gen4 = function.device_id() == "c010" &&
                          function.subsystem_vendor_id() == "1000" &&
                          function.subsystem_device_id().starts_with('a');
    return function.vendor_id() == "1000" && (pex_gen4 || function.device_id() == "c030");
  };
  if (bridge.path().empty() || !is_pex(bridge)) return false;
  const v1::PciFunction* const above = FindFunction(snapshot, *bridge.path().rbegin());
  return above != nullptr && is_pex(*above) && above->device_id() == bridge.device_id();
}

bool IsVirtualMachine(const v1::NodeSnapshot& snapshot) {
  const v1::HostFacts& host = snapshot.host();
  return host.has_virtualization() && host.virtualization() != "none";
}

bool IsInUse(const v1::Gpu& gpu) {
  return gpu.has_driver() && !gpu.driver().starts_with("vfio");
}

bool HasGpuInUse(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.gpus().begin(), snapshot.gpus().end(), IsInUse);
}

std::string TopologyCommand(const v1::NodeSnapshot& snapshot) {
  if (snapshot.gpus().empty()) return "lspci -tv";
  if (snapshot.gpus(0).vendor_id() == "10de") return "nvidia-smi topo -m";
  return snapshot.gpus(0).vendor_id() == "1002" ? "rocm-smi --showtopo" : "lspci -tv";
}

std::string_view CardOf(std::string_view address) {
  return address.substr(0, address.rfind('.'));
}

Owner OwnerOf(const NodeView& node, const v1::PciFunction& function) {
  const std::string_view card = CardOf(function.address());
  const PortView* owner = nullptr;
  bool any = false;
  for (const PortView& port : node.ports) {
    if (!port.device->has_pci_address() || CardOf(port.device->pci_address()) != card) continue;
    any = true;
    if (!port.rail || !IsUp(port) || port.expected().unused()) continue;
    if (owner == nullptr || port.device->pci_address() == function.address()) owner = &port;
  }
  return {.port = owner, .judged = owner != nullptr || (!any && !IsNetworkAdapter(function))};
}

v1::Subject SubjectOf(const NodeView& node, const Owner& owner) {
  return owner.port != nullptr ? DeviceSubject(*owner.port) : SubjectOf(node);
}

std::string FunctionName(const v1::PciFunction& function, const Owner& owner) {
  if (owner.port != nullptr)
    return Format("{} ({})", owner.port->device->name(), function.address());
  if (IsBridge(function)) return "bridge " + function.address();
  return Format("{} {}", IsNetworkAdapter(function) ? "card" : "GPU", function.address());
}

std::optional<Group> ByRailAndProduct(const Member& port) {
  if (!port.port->rail) return {};
  const std::string_view product = port.snapshot().host().product();
  return Group{.rail = port.port->rail->value(),
               .like = product.empty() ? port.port->model : product,
               .part = KindOf(*port.port)};
}

std::uint64_t FabricDevices(const NodeView& node) {
  const auto& devices = node.node->snapshot.rdma_devices();
  std::uint64_t fabric = 0;
  for (const PortView& port : node.ports) {
    if (!port.rail) continue;
    for (int i = 0; i < devices.size() && i < 64; ++i)
      if (&devices[i] == port.device) fabric |= std::uint64_t{1} << i;
  }
  return fabric;
}

bool IsTranslated(const v1::PciFunction& function) {
  return function.iommu_type().starts_with("DMA");
}

bool IsRdmaNode(const NodeView& node) {
  return !node.ports.empty() || !node.missing_cards.empty() ||
         std::ranges::any_of(node.node->snapshot.pci_functions(), IsNetworkAdapter);
}

std::set<std::string_view> RedirectingBridges(const fleet::NodeView& node) {
  std::set<std::string_view> bridges;
  const auto redirects = [](const v1::GpuNicPath& path) { return path.acs_redirects_size() > 0; };
  ForPeerPaths(node, redirects, [&](const v1::GpuNicPath& path) {
    bridges.insert(path.acs_redirects().begin(), path.acs_redirects().end());
  });
  return bridges;
}

std::set<std::string_view> RedirectingBridgesBetweenGpus(const v1::NodeSnapshot& snapshot) {
  std::set<std::string_view> bridges;
  ForBridgesBetweenGpus(snapshot, [&](std::string_view address) {
    const v1::PciFunction* const bridge = FindFunction(snapshot, address);
    if (bridge != nullptr && bridge->acs().redirects()) bridges.insert(address);
  });
  return bridges;
}

bool HasUnreadRedirects(const fleet::NodeView& node) {
  bool unread = false;
  const auto is_unread = [](const v1::GpuNicPath& path) { return !path.acs_known(); };
  ForPeerPaths(node, is_unread, [&](const v1::GpuNicPath& path) {
    unread = unread || (is_unread(path) && IsGpuInUse(node, path));
  });
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  ForBridgesBetweenGpus(snapshot, [&](std::string_view address) {
    const v1::PciFunction* const bridge = FindFunction(snapshot, address);
    // The inspector sets ats_capable of each bridge whose extended registers it could read.
    unread = unread || bridge == nullptr || !(bridge->has_acs() || bridge->has_ats_capable());
  });
  return unread;
}

}  // namespace fabric::rules
