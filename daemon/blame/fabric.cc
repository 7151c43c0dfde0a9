#include "daemon/blame/fabric.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::blame {
namespace {

auto Key(const Place& place) {
  return std::tuple<std::string_view, std::string_view, std::uint32_t>(place.node, place.device,
                                                                       place.port);
}

// "port 33 to spine-1 port 4", by port.
std::vector<std::string> LinksOf(const fleet::InfinibandTopology& topology,
                                 const fleet::InfinibandSwitch& leaf) {
  std::vector<std::string> links;
  for (const fleet::SwitchLink& link : leaf.links)
    links.push_back(Format("port {} to {} port {}", link.port, topology.switches()[link.other].name,
                           link.other_port));
  return links;
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
                  .leaf = sites.Of(port).leaf,
                  .leaf_port = sites.LeafPort(port)};
      fabric.places.push_back(std::move(place));
    }
  }
  std::sort(fabric.places.begin(), fabric.places.end(),
            [](const Place& a, const Place& b) { return Key(a) < Key(b); });
  const fleet::InfinibandTopology& topology = sites.infiniband();
  for (const fleet::InfinibandSwitch& each : topology.switches())
    fabric.links_up[each.name] = LinksOf(topology, each);
  if (!topology.empty()) fabric.links_known_at = ToString(ToProto(topology.made_at()));
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
