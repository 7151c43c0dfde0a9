#include "daemon/fleet/port_order.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "base/lists.h"
#include "base/text.h"
#include "proto/ports.h"

namespace fabric::fleet {
namespace {

// Names break ties.
struct SortKey {
  bool without_rail = false;
  bool without_pci = false;
  PciAddress pci;
  std::uint32_t number = 0;
  std::string_view netdev;
  std::string_view device;

  friend bool operator<(const SortKey& a, const SortKey& b) {
    const auto key = [](const SortKey& p) {
      return std::tie(p.without_rail, p.without_pci, p.pci, p.number);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    if (a.netdev != b.netdev) return NaturalLess(a.netdev, b.netdev);
    return NaturalLess(a.device, b.device);
  }
};

// Empty: none.
std::string_view PciOf(const OrderedPort& port) {
  if (port.device->has_pci_address()) return port.device->pci_address();
  return port.netdev != nullptr ? std::string_view(port.netdev->pci_address()) : std::string_view();
}

bool IsSoftware(const v1::RdmaDevice& device) {
  return device.function().kind() == v1::FUNCTION_KIND_SOFTWARE;
}

// On a node with adapters, software devices get no rail. software_rdma_with_hardware reports them.
bool HasCards(const v1::NodeSnapshot& snapshot) {
  return std::any_of(snapshot.rdma_devices().begin(), snapshot.rdma_devices().end(),
                     [](const v1::RdmaDevice& device) {
                       return device.has_pci_address() && !IsSoftware(device) &&
                              device.function().role() == v1::FUNCTION_ROLE_FABRIC;
                     });
}

bool CountsAsFabricPort(const OrderedPort& port, bool has_cards) {
  const v1::RdmaDevice& device = *port.device;
  if (has_cards && IsSoftware(device)) return false;
  if (device.node_type() == v1::NODE_TYPE_SWITCH || device.node_type() == v1::NODE_TYPE_ROUTER)
    return false;
  // In switchdev mode a device also has ports of other functions.
  if (port.netdev != nullptr && port.netdev->function().kind() == v1::FUNCTION_KIND_REPRESENTOR)
    return false;
  return !device.has_function() || device.function().role() == v1::FUNCTION_ROLE_FABRIC;
}

SortKey KeyOf(const OrderedPort& port) {
  const auto pci = ParsePciAddress(PciOf(port));
  return {.without_rail = !port.fabric,
          .without_pci = !pci.ok(),
          .pci = pci.ok() ? *pci : PciAddress(),
          .number = port.port->number(),
          .netdev = port.port->netdev(),
          .device = port.device->name()};
}

}  // namespace

std::string OrderedPort::Place() const {
  std::string_view place = PciOf(*this);
  if (place.empty()) place = port->netdev();
  if (place.empty()) place = device->name();
  return Format("{}/{}", place, port->number());
}

std::vector<OrderedPort> PortsInOrder(const v1::NodeSnapshot& snapshot) {
  const bool has_cards = HasCards(snapshot);
  std::vector<std::pair<SortKey, OrderedPort>> keyed;
  keyed.reserve(static_cast<std::size_t>(snapshot.rdma_devices_size()));
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      OrderedPort ordered{
          .device = &device,
          .port = &port,
          .netdev = port.has_netdev() ? FindNetdev(snapshot, port.netdev()) : nullptr};
      ordered.fabric = CountsAsFabricPort(ordered, has_cards);
      keyed.emplace_back(KeyOf(ordered), ordered);
    }
  }
  const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(keyed.begin(), keyed.end(), by_key))
    std::sort(keyed.begin(), keyed.end(), by_key);
  std::vector<OrderedPort> ports;
  ports.reserve(keyed.size());
  for (const auto& [key, port] : keyed) ports.push_back(port);
  return ports;
}

}  // namespace fabric::fleet
