#include "daemon/rules/infiniband/infiniband.h"

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"

namespace fabric::rules {

bool IsInfiniband(const fleet::PortView& port) {
  return port.port->link_layer() == v1::LINK_LAYER_INFINIBAND;
}

bool IsActiveInfiniband(const fleet::PortView& port) {
  return port.rail && IsInfiniband(port) && port.port->state() == v1::PORT_STATE_ACTIVE;
}

bool IsVirtualFunction(const fleet::PortView& port) {
  return port.device->function().kind() == v1::FUNCTION_KIND_VIRTUAL;
}

bool IsZeroGuid(std::string_view guid) {
  return guid.find_first_not_of("0:") == std::string_view::npos;
}

std::optional<Group> BySubnet(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || !port.port->has_subnet_prefix()) return {};
  const std::string_view prefix = port.port->subnet_prefix();
  if (prefix == kDefaultSubnetPrefix)
    return Group{.rail = port.rail->value(), .like = prefix, .part = KindOf(port)};
  return Group{.rail = {}, .like = prefix};
}

v1::Remedy QueryPortInfo(const fleet::PortView& port, std::string_view note) {
  return ToRemedy(
      {.command = Format("smpquery portinfo {} {}", port.port->lid(), port.port->number()),
       .note = note});
}

}  // namespace fabric::rules
