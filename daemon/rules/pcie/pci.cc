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

bool Translates(const v1::NodeSnapshot& snapshot, const v1::GpuNicPath& path) {
  const v1::PciFunction* const gpu = FindFunction(snapshot, path.gpu());
  return gpu != nullptr && IsTranslated(*gpu);
}

// Paths to devices of the fabric, by GPU. Empty if no bridge redirects.
using Paths = std::map<std::string_view, std::vector<const v1::GpuNicPath*>>;

Paths ToFabric(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  Paths paths;
  const auto& all = snapshot.gpu_nic_paths();
  if (std::none_of(all.begin(), all.end(),
                   [](const v1::GpuNicPath& path) { return path.acs_redirects_size() > 0; }))
    return paths;
  std::set<std::string_view> fabric;
  for (const fleet::PortView& port : node.ports)
    if (port.rail) fabric.insert(port.device->name());
  for (const v1::GpuNicPath& path : all)
    if (path.distance() != v1::PCI_DISTANCE_UNSPECIFIED && fabric.contains(path.device()))
      paths[path.gpu()].push_back(&path);
  return paths;
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
  return {.port = owner, .judged = !any || owner != nullptr};
}

v1::Subject SubjectOf(const NodeView& node, const Owner& owner) {
  return owner.port != nullptr ? DeviceSubject(*owner.port) : SubjectOf(node);
}

std::string FunctionName(const v1::PciFunction& function, const Owner& owner) {
  if (owner.port != nullptr)
    return Format("{} ({})", owner.port->device->name(), function.address());
  return Format("{} {}", IsBridge(function) ? "bridge" : "GPU", function.address());
}

std::optional<Group> ByRailAndProduct(const Member& port) {
  if (!port.port->rail) return {};
  const std::string_view product = port.snapshot().host().product();
  return Group{.rail = port.port->rail->value(),
               .like = product.empty() ? std::string_view(port.port->device->model()) : product,
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

std::set<std::string_view> RedirectingBridges(const fleet::NodeView& node) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  std::set<std::string_view> bridges;
  if (IsVirtualMachine(snapshot)) return bridges;
  for (const auto& [gpu, paths] : ToFabric(node)) {
    v1::PciDistance nearest = v1::PCI_DISTANCE_SYS;
    for (const v1::GpuNicPath* path : paths) nearest = std::min(nearest, path->distance());
    for (const v1::GpuNicPath* path : paths) {
      if (path->distance() != nearest || nearest > v1::PCI_DISTANCE_PHB) continue;
      if (nearest == v1::PCI_DISTANCE_PHB && !Translates(snapshot, *path)) continue;
      bridges.insert(path->acs_redirects().begin(), path->acs_redirects().end());
    }
  }
  return bridges;
}

}  // namespace fabric::rules
