#include "daemon/fleet/sites.h"

#include "base/text.h"

namespace fabric::fleet {
namespace {

std::string_view NeighborName(const PortView& port) {
  if (port.neighbor == nullptr) return {};
  const std::string& name = port.neighbor->system_name();
  return name.empty() ? port.neighbor->chassis_id() : name;
}

profile::Traits SiteTraitsOf(const PortView& port) {
  return {.node = port.node->name,
          .device = port.device->name(),
          .netdev = port.port->netdev(),
          .model = port.device->model(),
          .driver = port.device->driver(),
          .rail = port.rail};
}

}  // namespace

// LLDP takes precedence over the topology file.
const Attachment* Sites::AttachmentOf(const PortView& port) const {
  return NeighborName(port).empty() ? infiniband_.Find(*port.device, *port.port) : nullptr;
}

Site Sites::Of(const PortView& port) const {
  std::string_view leaf = NeighborName(port);
  if (const Attachment* const attachment = AttachmentOf(port))
    leaf = infiniband_.switches()[attachment->leaf].name;
  if (leaf.empty()) leaf = port.switch_name;  // Known from before
  if (places_.empty()) return {.leaf = std::string(leaf), .pod = {}};
  return places_.Of(SiteTraitsOf(port), leaf);
}

std::string Sites::LeafPort(const PortView& port) const {
  if (port.neighbor != nullptr) return SwitchPortOf(*port.neighbor);
  const Attachment* const attachment = AttachmentOf(port);
  return attachment == nullptr ? std::string(port.switch_port) : Format("{}", attachment->port);
}

TopologyCoverage Sites::Cover(const NodeView& node) const {
  TopologyCoverage cover;
  for (const PortView& view : node.ports) {
    const v1::Port& port = *view.port;
    const bool up = port.state() == v1::PORT_STATE_ACTIVE;
    if (!up || !view.rail || port.link_layer() != v1::LINK_LAYER_INFINIBAND) continue;
    const Attachment* const attachment = infiniband_.Find(*view.device, port);
    ++(attachment == nullptr ? cover.unknown : cover.placed);
    const bool both = attachment != nullptr && attachment->lid != 0 && port.lid() != 0;
    if (both && attachment->lid != port.lid()) ++cover.lid_mismatches;
  }
  return cover;
}

}  // namespace fabric::fleet
