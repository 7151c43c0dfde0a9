#include "daemon/blame/fabric.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace fabric::blame {
namespace {

constexpr std::uint32_t kPortIdIsMac = 3;  // IEEE 802.1AB, 8.5.3.2

auto Key(const Place& place) {
  return std::tuple<std::string_view, std::string_view, std::uint32_t>(place.node, place.device,
                                                                       place.port);
}

// nullptr: nobody is heard, or several are, and one of them cannot be chosen.
const v1::LldpNeighbor* HeardOn(const v1::NodeSnapshot& snapshot, std::string_view netdev) {
  const v1::LldpNeighbor* found = nullptr;
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors()) {
    if (neighbor.netdev() != netdev) continue;
    if (found != nullptr) return nullptr;
    found = &neighbor;
  }
  return found;
}

// Of a bond's members only one that hears the same switch as the others: it is one way in then.
const v1::LldpNeighbor* NeighborOf(const fleet::PortView& port) {
  if (port.netdev == nullptr) return nullptr;
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  if (const v1::LldpNeighbor* const own = HeardOn(snapshot, port.netdev->name())) return own;
  const v1::LldpNeighbor* found = nullptr;
  for (const std::string& member : port.netdev->bond().members()) {
    const v1::LldpNeighbor* const heard = HeardOn(snapshot, member);
    if (heard == nullptr) continue;
    if (found != nullptr && found->chassis_id() != heard->chassis_id()) return nullptr;
    if (found == nullptr) found = heard;
  }
  return found;
}

void SetSwitch(const v1::LldpNeighbor& neighbor, Place& place) {
  place.leaf = neighbor.system_name().empty() ? neighbor.chassis_id() : neighbor.system_name();
  const bool mac = neighbor.port_id_subtype() == kPortIdIsMac;
  place.leaf_port = mac && !neighbor.port_description().empty() ? neighbor.port_description()
                                                                : neighbor.port_id();
}

}  // namespace

std::string NameOf(const Place& place) {
  return Format("{}/{}/{}", place.node, place.device, place.port);
}

Fabric FabricOf(const fleet::FleetView& fleet) {
  Fabric fabric;
  for (const fleet::NodeView& node : fleet.nodes()) {
    for (const fleet::PortView& port : node.ports) {
      if (!port.rail) continue;
      Place place{.node = port.node->name,
                  .device = port.device->name(),
                  .port = port.port->number(),
                  .rail = port.rail->value()};
      if (const v1::LldpNeighbor* const neighbor = NeighborOf(port)) SetSwitch(*neighbor, place);
      fabric.places.push_back(std::move(place));
    }
  }
  std::sort(fabric.places.begin(), fabric.places.end(),
            [](const Place& a, const Place& b) { return Key(a) < Key(b); });
  return fabric;
}

std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port) {
  const Place wanted{.node = port.node(), .device = port.device(), .port = port.port()};
  const auto at = std::lower_bound(fabric.places.begin(), fabric.places.end(), wanted,
                                   [](const Place& a, const Place& b) { return Key(a) < Key(b); });
  if (at == fabric.places.end() || Key(*at) != Key(wanted)) return std::nullopt;
  return static_cast<std::uint32_t>(at - fabric.places.begin());
}

}  // namespace fabric::blame
