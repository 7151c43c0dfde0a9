#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/product.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/switches/switches.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// IEEE 802.1AB, port id subtypes that are unique on a switch: interface name and locally assigned.
// Descriptions and MAC addresses can be the same on all ports of a switch.
constexpr std::uint32_t kInterfaceName = 5;
constexpr std::uint32_t kLocal = 7;

void SwitchPorts(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  const v1::LldpNeighbor* const neighbor = IsUp(port) ? NeighborOf(port) : nullptr;
  if (neighbor == nullptr || neighbor->chassis_id().empty() || neighbor->port_id().empty()) return;
  const std::uint32_t subtype = neighbor->port_id_subtype();
  if (subtype != kInterfaceName && subtype != kLocal) return;
  const std::uint64_t chassis =
      Mix().Add(neighbor->chassis_id_subtype()).Add(neighbor->chassis_id()).value();
  out.push_back({.member = member, .key = {.number = chassis, .text = neighbor->port_id()}});
}

// Several hosts can share one card and its cable (multi-host): their devices have the same system
// image GUID.
void Cards(const KeyHolder& holder, std::vector<Value>& out) {
  const std::string& system = holder.member.port->device->sys_image_guid();
  if (!system.empty() && !IsZeroGuid(system)) out.push_back({.text = system});
}

std::string Show(const KeyHolder& holder) {
  const v1::LldpNeighbor& neighbor = *NeighborOf(*holder.member.port);
  return Format("{} {}", SwitchName(neighbor), SwitchPort(neighbor));
}

std::string Source(const KeyHolder& holder) {
  return LldpSource(*NeighborOf(*holder.member.port));
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  return {Query({.command = Format("lldpcli show neighbors ports {} details",
                                   last.member.port->port->netdev()),
                 .note = "Run it on each node. Either a device in between forwards LLDP (an "
                         "unmanaged switch, a bridge), or two switches have the same chassis "
                         "id: give the cloned switch its own id."})};
}

constexpr UniquenessRule kSwitchPorts = {.what = "switch port",
                                         .keys = SwitchPorts,
                                         .same = IsOnOneNode,
                                         .identities = Cards,
                                         .show = Show,
                                         .source = Source,
                                         .remedies = Remedies};

}  // namespace

extern const Rule switch_port_of_one_node = {
    .id = "switch_port_of_one_node",
    .title = "No two nodes are connected to the same switch port",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Two hosts that receive LLDP from one switch port share its bandwidth over an unmanaged "
        "device, or are connected to two switches with the same chassis id. Findings about switch "
        "and cable are then wrong: the leaf of a rail, the PFC comparison, the link of a slow "
        "path.",
    .source =
        "IEEE 802.1AB: chassis and port id together name one port; clause 7 on devices that "
        "forward LLDP",
    .needs = {Input::kLldp},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "Connect the cable to a separate port; give a cloned switch its own chassis id",
    .uniqueness_rule = &kSwitchPorts,
};

}  // namespace fabric::rules
