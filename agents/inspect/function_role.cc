#include "agents/inspect/function_role.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"
#include "proto/names.h"
#include "proto/routes.h"

namespace fabric::inspect {
namespace {

constexpr std::size_t kInfinibandMin = 4;

std::vector<std::string> DefaultRoutes(const Host& host) {
  const Result<std::string> text = host.root.Whole("proc/net/route");
  return text.ok() ? DefaultRouteNetdevs(*text) : std::vector<std::string>();
}

// Devices of one kind belong to one network; what it is called is shown to people.
std::string GroupOf(const v1::RdmaDevice& device) {
  if (device.ports().empty()) return "no port";
  const v1::Port& port = device.ports(0);
  return Format(
      "{} {}{}", port.link_layer() == v1::LINK_LAYER_INFINIBAND ? "InfiniBand" : "Ethernet",
      device.has_model() ? device.model() : device.hca_type(), port.has_lag() ? " bond" : "");
}

bool IsInfiniband(const v1::RdmaDevice& device) {
  return !device.ports().empty() && device.ports(0).link_layer() == v1::LINK_LAYER_INFINIBAND;
}

std::string CarriedRoute(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device,
                         const std::vector<std::string>& routes) {
  for (const v1::Port& port : device.ports())
    for (const std::string& route : routes)
      if (port.has_netdev() && IsOrIsAbove(snapshot, port.netdev(), route)) return route;
  return {};
}

// The storage that the device serves; nullptr: none.
const v1::StorageUse* StorageOf(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  for (const v1::StorageUse& use : snapshot.storage())
    if (use.rdma_device() == device.name()) return &use;
  return nullptr;
}

std::string StorageText(const v1::StorageUse& use) {
  return Format("{} ({})", Name(use.kind()), use.name());
}

struct Facts {
  std::vector<std::string> routes;
  std::map<std::string, std::size_t> group_sizes;
  std::size_t largest = 0;
  std::size_t infiniband = 0;
  std::set<std::string> infiniband_boards;
};

void Decide(const v1::NodeSnapshot& snapshot, const Facts& facts, v1::RdmaDevice& device) {
  v1::FunctionClass& function = *device.mutable_function();
  const auto say = [&](v1::FunctionRole role, const std::string& why) {
    function.set_role(role);
    function.set_reason(function.reason() + "; " + why);
  };
  const std::size_t size = facts.group_sizes.at(GroupOf(device));
  const bool odd = 2 * size <= facts.largest;
  const std::string route = CarriedRoute(snapshot, device, facts.routes);
  const v1::StorageUse* const storage = StorageOf(snapshot, device);
  if (odd && !route.empty())
    say(v1::FUNCTION_ROLE_MANAGEMENT,
        Format("{} carries the default route, and {} devices are of another kind", route,
               facts.largest));
  else if (odd && storage != nullptr)
    say(v1::FUNCTION_ROLE_STORAGE, "it serves " + StorageText(*storage));
  else if (odd && facts.infiniband >= kInfinibandMin && !IsInfiniband(device) &&
           !facts.infiniband_boards.contains(device.board_id()))
    say(v1::FUNCTION_ROLE_STORAGE,
        Format(
            "Ethernet on a node with {} InfiniBand devices, without the default route: storage, by "
            "exclusion",
            facts.infiniband));
  else if (!route.empty())
    say(v1::FUNCTION_ROLE_FABRIC,
        Format("fabric, although {} carries the default route: no other difference", route));
  else
    say(v1::FUNCTION_ROLE_FABRIC, "fabric by default");
}

}  // namespace

void DecideRoles(const Host& host, v1::NodeSnapshot& snapshot) {
  Facts facts{.routes = DefaultRoutes(host)};
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    if (device.function().role() != v1::FUNCTION_ROLE_FABRIC) continue;
    facts.largest = std::max(facts.largest, ++facts.group_sizes[GroupOf(device)]);
    if (!IsInfiniband(device)) continue;
    ++facts.infiniband;
    if (device.has_board_id()) facts.infiniband_boards.insert(device.board_id());
  }
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices())
    if (device.function().role() == v1::FUNCTION_ROLE_FABRIC) Decide(snapshot, facts, device);
}

namespace {

// Bridges above the device; nothing if its place is not known.
std::optional<int> BridgesAbove(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (function.address() == device.pci_address() && !function.path().empty())
      return function.path_size();
  return std::nullopt;
}

}  // namespace

// A GPU that is lost leaves the card next to it where it is: below a PCIe switch. So the role does
// not depend on the number of GPUs.
void DecideRolesByPosition(v1::NodeSnapshot& snapshot) {
  constexpr std::size_t kNearMin = 4;
  constexpr int kSwitchBridges = 3;    // Root port, both sides of a switch
  std::set<std::string> near_devices;  // Below a PCIe switch with a GPU
  for (const v1::GpuNicPath& path : snapshot.gpu_nic_paths()) {
    if (path.distance() == v1::PCI_DISTANCE_UNSPECIFIED) return;
    if (path.distance() <= v1::PCI_DISTANCE_PXB) near_devices.insert(path.device());
  }
  std::set<std::string> near_groups;
  std::vector<v1::RdmaDevice*> far;
  std::size_t near = 0;
  for (v1::RdmaDevice& device : *snapshot.mutable_rdma_devices()) {
    const auto bridges = BridgesAbove(snapshot, device);
    if (device.function().role() != v1::FUNCTION_ROLE_FABRIC || !bridges) continue;
    if (near_devices.contains(device.name()) && *bridges >= kSwitchBridges) {
      ++near;
      near_groups.insert(GroupOf(device));
    } else if (!near_devices.contains(device.name())) {
      far.push_back(&device);
    }
  }
  if (near < kNearMin || 2 * far.size() > near) return;
  for (v1::RdmaDevice* const device : far) {
    const v1::StorageUse* const storage = StorageOf(snapshot, *device);
    const bool below_switch = *BridgesAbove(snapshot, *device) >= kSwitchBridges;
    if (below_switch && storage == nullptr && near_groups.contains(GroupOf(*device))) continue;
    v1::FunctionClass& function = *device->mutable_function();
    function.set_role(v1::FUNCTION_ROLE_STORAGE);
    // Without the default that DecideRoles() gave.
    const std::string kind = function.reason().substr(0, function.reason().rfind(';'));
    function.set_reason(
        Format("{}; storage by position: {} other devices are next to GPUs{}", kind, near,
               storage != nullptr ? ", and it serves " + StorageText(*storage) : std::string()));
  }
}

}  // namespace fabric::inspect
