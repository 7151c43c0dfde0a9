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

std::string SwitchPort(const v1::LldpNeighbor& neighbor) {
  const bool mac = neighbor.port_id_subtype() == kPortIdIsMac;
  return mac && !neighbor.port_description().empty() ? neighbor.port_description()
                                                     : neighbor.port_id();
}

}  // namespace

std::string NameOf(const Place& place) {
  return Format("{}/{}/{}", place.node, place.device, place.port);
}

Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites) {
  Fabric fabric;
  for (const fleet::NodeView& node : fleet.nodes()) {
    for (const fleet::PortView& port : node.ports) {
      if (!port.rail) continue;
      Place place{.node = port.node->name,
                  .device = port.device->name(),
                  .port = port.port->number(),
                  .rail = port.rail->value(),
                  .leaf = sites.Of(port).leaf};
      if (port.neighbor != nullptr) place.leaf_port = SwitchPort(*port.neighbor);
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
