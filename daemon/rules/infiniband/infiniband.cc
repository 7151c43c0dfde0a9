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

std::string ThroughPort(const fleet::PortView& port) {
  return Format("-C {} -P {}", port.device->name(), port.port->number());
}

v1::Remedy QueryPortInfo(const fleet::PortView& port, std::string_view note) {
  return Query(
      {.command = Format("smpquery {} -D portinfo 0 {}", ThroughPort(port), port.port->number()),
       .note = std::string(note)});
}

v1::Remedy QuerySubnetManager(const fleet::PortView& port, std::string_view note) {
  return Query({.command = Format("sminfo {}", ThroughPort(port)), .note = std::string(note)});
}

v1::Remedy ResetLink(const fleet::PortView& port, std::string_view note) {
  return Change(
      {.command = Format("ibportstate {} -D 0 {} reset", ThroughPort(port), port.port->number()),
       .affects = v1::REMEDY_REACH_PORT,
       .interrupts = kInterruptsPort,
       .lasts = Permanently(),
       .undo = "Nothing to undo: the link comes up again by itself",
       .note = Format("{} Old versions of infiniband-diags refuse ports of HCAs: then "
                      "reset the port of the switch.",
                      note)});
}

std::string_view PhysicalFunctionOf(const fleet::PortView& port) {
  for (const v1::PciFunction& function : port.node->snapshot.pci_functions())
    if (function.address() == port.device->pci_address()) return function.physical_function();
  return {};
}

// The kernel numbers virtual functions by address, as the snapshot sorts them.
std::optional<std::uint32_t> VirtualFunctionIndex(const fleet::PortView& port) {
  const std::string_view physical = PhysicalFunctionOf(port);
  if (physical.empty()) return {};
  std::optional<std::uint32_t> index;
  std::uint32_t seen = 0;
  std::uint32_t all = 0;
  for (const v1::PciFunction& function : port.node->snapshot.pci_functions()) {
    if (function.address() == physical) all = function.sriov_vfs();
    if (function.physical_function() != physical) continue;
    if (function.address() == port.device->pci_address()) index = seen;
    ++seen;
  }
  return seen == all ? index : std::nullopt;
}

}  // namespace fabric::rules
