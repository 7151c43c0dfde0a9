#include "daemon/blame/fabric.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::blame {
namespace {

auto Key(const Endpoint& endpoint) {
  return std::tuple<std::string_view, std::string_view, std::uint32_t>(
      endpoint.node, endpoint.device, endpoint.port);
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

ExactRoutes RoutesOf(const fleet::FleetView& fleet, const fleet::InfinibandTopology& topology,
                     const Fabric& fabric) {
  if (topology.empty()) return {};
  std::vector<const fleet::Attachment*> attachments(fabric.endpoints.size());
  for (const fleet::NodeView& node : fleet.nodes())
    for (const fleet::PortView& port : node.ports) {
      v1::ProbePort name;
      name.set_node(port.node->name);
      name.set_device(port.device->name());
      name.set_port(port.port->number());
      if (const auto index = Find(fabric, name))
        attachments[*index] = topology.Find(*port.device, *port.port);
    }
  return {topology, attachments};
}

}  // namespace

std::string NameOf(const Endpoint& endpoint) {
  return Format("{}/{}/{}", endpoint.node, endpoint.device, endpoint.port);
}

Fabric FabricOf(const fleet::FleetView& fleet, const fleet::Sites& sites,
                const v1::CampaignSpec& spec) {
  std::set<std::string> nodes(spec.nodes().begin(), spec.nodes().end());
  if (!nodes.empty() && !spec.hub().empty()) nodes.insert(spec.hub());
  const std::set<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());
  Fabric fabric;
  for (const fleet::NodeView& node : fleet.nodes()) {
    if (!nodes.empty() && !nodes.contains(node.node->name)) continue;
    for (const fleet::PortView& port : node.ports) {
      if (!port.rail || (!rails.empty() && !rails.contains(port.rail->value()))) continue;
      Endpoint endpoint{.node = port.node->name,
                        .device = port.device->name(),
                        .port = port.port->number(),
                        .rail = port.rail->value(),
                        .leaf = sites.Of(port).leaf,
                        .leaf_port = sites.LeafPort(port)};
      fabric.endpoints.push_back(std::move(endpoint));
    }
  }
  std::sort(fabric.endpoints.begin(), fabric.endpoints.end(),
            [](const Endpoint& a, const Endpoint& b) { return Key(a) < Key(b); });
  const fleet::InfinibandTopology& topology = sites.infiniband();
  for (const fleet::InfinibandSwitch& each : topology.switches())
    fabric.links_up[each.name] = LinksOf(topology, each);
  if (!topology.empty()) fabric.links_known_at = ToString(ToProto(topology.made_at()));
  fabric.routes = RoutesOf(fleet, topology, fabric);
  return fabric;
}

std::optional<std::uint32_t> Find(const Fabric& fabric, const v1::ProbePort& port) {
  const Endpoint request{.node = port.node(), .device = port.device(), .port = port.port()};
  const auto at =
      std::lower_bound(fabric.endpoints.begin(), fabric.endpoints.end(), request,
                       [](const Endpoint& a, const Endpoint& b) { return Key(a) < Key(b); });
  if (at == fabric.endpoints.end() || Key(*at) != Key(request)) return std::nullopt;
  return static_cast<std::uint32_t>(at - fabric.endpoints.begin());
}

}  // namespace fabric::blame
