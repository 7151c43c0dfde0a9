#include "agents/inspect/pci_place.h"

#include <algorithm>

#include "agents/host/pci_config.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr const char* kDeviceTree = "sys/devices";
constexpr int kDepthMax = 32;  // PCI allows 256 buses; servers have less than ten levels.
constexpr int kFoldersMax = 1 << 14;
constexpr std::uint8_t kEndpoint = 0;  // PCI_EXP_TYPE_*
constexpr std::uint8_t kLegacyEndpoint = 1;
constexpr std::uint8_t kRootPort = 4;

// "pci0000:15"
bool IsRootComplex(std::string_view name) {
  if (!name.starts_with("pci")) return false;
  name.remove_prefix(3);
  const std::size_t colon = name.find(':');
  return colon != std::string_view::npos &&
         ParseNumber<std::uint32_t>(name.substr(0, colon), 16).ok() &&
         ParseNumber<std::uint8_t>(name.substr(colon + 1), 16).ok();
}

// What must be at the top of a way upwards.
bool IsOnRootBus(const PciAddress& top, std::optional<std::uint8_t> port_type, bool is_bridge) {
  if (is_bridge) return !port_type || *port_type == kRootPort;
  // An endpoint sits below a port, but for virtual machines, which show it on bus 0.
  const bool endpoint = !port_type || *port_type == kEndpoint || *port_type == kLegacyEndpoint;
  return !endpoint || top.bus == 0;
}

}  // namespace

std::optional<PciPlace> PlaceInPath(std::string_view path) {
  std::optional<PciPlace> place;
  const std::vector<std::string_view> parts = Split(path, '/');
  for (const std::string_view part : parts) {
    if (IsRootComplex(part)) {
      place = PciPlace{.root_complex = std::string(part), .bridges = {}};
    } else if (place) {
      const auto address = ParsePciAddress(part);
      if (!address.ok()) return std::nullopt;
      place->bridges.push_back(ToString(*address));
    }
  }
  if (!place || place->bridges.empty()) return std::nullopt;
  place->bridges.pop_back();  // The function itself
  return place;
}

std::optional<PciPlace> PlaceByBuses(const PciAddress& function,
                                     std::optional<std::uint8_t> port_type,
                                     const std::vector<PciBridge>& bridges) {
  PciPlace place;
  PciAddress at = function;
  for (int depth = 0; depth < kDepthMax; ++depth) {
    const PciBridge* above = nullptr;
    bool within = false;
    for (const PciBridge& bridge : bridges) {
      if (bridge.address.domain != at.domain || bridge.address == at || bridge.secondary == 0)
        continue;
      if (bridge.secondary == at.bus) above = &bridge;
      within = within || (bridge.secondary <= at.bus && at.bus <= bridge.subordinate);
    }
    if (above == nullptr) {
      if (within || !IsOnRootBus(at, port_type, !place.bridges.empty())) return std::nullopt;
      place.root_complex = Format("pci{:04x}:{:02x}", at.domain, at.bus);
      std::reverse(place.bridges.begin(), place.bridges.end());
      return place;
    }
    place.bridges.push_back(ToString(above->address));
    at = above->address;
    port_type = above->port_type;
  }
  return std::nullopt;  // The numbers run in circles.
}

void PciPlaces::ReadFolder(const std::string& path, int depth) {
  if (depth > kDepthMax || ++folders_read_ > kFoldersMax) return;  // Links may run in circles.
  const Result<Dir> dir = host_.root.Sub(path);
  if (!dir.ok()) return;
  const Result<std::vector<std::string>> names = dir->Names();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const bool function = ParsePciAddress(name).ok();
    if (!function && !IsRootComplex(name)) continue;
    const std::string below = path + "/" + name;
    if (function)
      if (const auto place = PlaceInPath(below)) folders_.emplace(name, *place);
    ReadFolder(below, depth + 1);
  }
}

void PciPlaces::ReadFolders() {
  const Result<Dir> devices = host_.root.Sub(kDeviceTree);
  if (!devices.ok()) return;
  const Result<std::vector<std::string>> names = devices->Names();
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (IsRootComplex(name)) ReadFolder(std::string(kDeviceTree) + "/" + name, 0);
}

void PciPlaces::ReadBridges() {
  const Result<Dir> devices = host_.root.Sub(kPciDevices);
  if (!devices.ok()) return;
  const Result<std::vector<std::string>> names = devices->Names();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const auto address = ParsePciAddress(name);
    const Result<Dir> dir = devices->Sub(name);
    if (!address.ok() || !dir.ok()) continue;
    const Result<host::PciConfig> config = host::ReadPciConfig(*dir);
    PciBridge bridge{.address = *address, .port_type = {}};
    if (config.ok() && config->buses) {
      bridge.secondary = config->buses->secondary;
      bridge.subordinate = config->buses->subordinate;
    }
    if (config.ok() && config->express) bridge.port_type = config->express->port_type;
    // Kernels from 5.4 on say it in words too.
    if (const auto bus = dir->Number<std::uint8_t>("secondary_bus_number"); bus.ok()) {
      bridge.secondary = *bus;
      const auto last = dir->Number<std::uint8_t>("subordinate_bus_number");
      bridge.subordinate = last.ok() ? *last : *bus;
    }
    bridges_.push_back(bridge);
  }
}

std::optional<PciPlace> PciPlaces::Of(const PciAddress& function) {
  const std::string name = ToString(function);
  if (const auto link = host_.root.LinkTarget(Format("{}/{}", kPciDevices, name)); link.ok())
    if (auto place = PlaceInPath(*link)) return place;
  if (!fallbacks_read_) {
    fallbacks_read_ = true;
    ReadFolders();
    ReadBridges();
  }
  if (const auto folder = folders_.find(name); folder != folders_.end()) return folder->second;
  std::optional<std::uint8_t> port_type;
  for (const PciBridge& each : bridges_)
    if (each.address == function) port_type = each.port_type;
  return PlaceByBuses(function, port_type, bridges_);
}

}  // namespace fabric::inspect
