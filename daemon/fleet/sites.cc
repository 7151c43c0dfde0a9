#include "daemon/fleet/sites.h"

namespace fabric::fleet {
namespace {

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

}  // namespace

Site Sites::Of(const PortView& port) const {
  const std::string_view heard = HeardBy(port);
  if (places_.empty()) return {.leaf = std::string(heard), .pod = {}};
  return places_.Of(TraitsOf(port), heard);
}

}  // namespace fabric::fleet
