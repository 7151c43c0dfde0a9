#include "daemon/fleet/sites.h"

#include "base/text.h"

namespace fabric::fleet {
namespace {

constexpr std::uint32_t kPortIdIsMac = 3;  // IEEE 802.1AB, 8.5.3.2

std::string_view HeardBy(const PortView& port) {
  if (port.neighbor == nullptr) return {};
  const std::string& name = port.neighbor->system_name();
  return name.empty() ? port.neighbor->chassis_id() : name;
}

profile::Traits TraitsOf(const PortView& port) {
  return {.node = port.node->name,
          .device = port.device->name(),
          .netdev = port.port->netdev(),
          .model = port.device->model(),
          .driver = port.device->driver(),
          .rail = port.rail};
}

std::string HeardPort(const v1::LldpNeighbor& neighbor) {
  const bool mac = neighbor.port_id_subtype() == kPortIdIsMac;
  return mac && !neighbor.port_description().empty() ? neighbor.port_description()
                                                     : neighbor.port_id();
}

}  // namespace

// What is heard now wins over a file.
const Plug* Sites::PlugOf(const PortView& port) const {
  return HeardBy(port).empty() ? infiniband_.Find(*port.device, *port.port) : nullptr;
}

Site Sites::Of(const PortView& port) const {
  std::string_view heard = HeardBy(port);
  if (const Plug* const plug = PlugOf(port)) heard = infiniband_.switches()[plug->leaf].name;
  if (places_.empty()) return {.leaf = std::string(heard), .pod = {}};
  return places_.Of(TraitsOf(port), heard);
}

std::string Sites::LeafPort(const PortView& port) const {
  if (port.neighbor != nullptr) return HeardPort(*port.neighbor);
  const Plug* const plug = PlugOf(port);
  return plug == nullptr ? std::string() : Format("{}", plug->port);
}

TopologyCover Sites::Cover(const FleetView& fleet) const {
  TopologyCover cover;
  for (const NodeView& node : fleet.nodes()) {
    for (const PortView& view : node.ports) {
      const v1::Port& port = *view.port;
      const bool up = port.state() == v1::PORT_STATE_ACTIVE;
      if (!up || !view.rail || port.link_layer() != v1::LINK_LAYER_INFINIBAND) continue;
      const Plug* const plug = infiniband_.Find(*view.device, port);
      ++(plug == nullptr ? cover.unknown : cover.placed);
      const bool both = plug != nullptr && plug->lid != 0 && port.lid() != 0;
      if (both && plug->lid != port.lid()) ++cover.other_lid;
    }
  }
  return cover;
}

}  // namespace fabric::fleet
