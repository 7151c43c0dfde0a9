#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/mtu.h"
#include "daemon/rules/rule.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The VLAN that RDMA of the port runs over: that of the GID which jobs use. A VLAN beside it, of
// storage or management, may have any MTU.
const v1::NetInterface* VlanOf(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr || gid->netdev().empty() || gid->netdev() == port.port->netdev())
    return nullptr;
  const v1::NetInterface* const netdev = FindNetdev(port.node->snapshot, gid->netdev());
  return netdev != nullptr && netdev->has_vlan() ? netdev : nullptr;
}

void Fail(const PortView& port, const v1::NetInterface& vlan, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("MTU of {} {}, expected {} as of {}", vlan.name(), vlan.mtu_bytes(),
                  port.netdev->mtu_bytes(), port.netdev->name()),
           {ToEvidence(*port.node, {.what = "MTU of " + vlan.name(),
                                    .expected = Format("{}", port.netdev->mtu_bytes()),
                                    .seen = Format("{}", vlan.mtu_bytes()),
                                    .source = Format("sys/class/net/{}/mtu", vlan.name()),
                                    .basis = "MTU of " + port.netdev->name()})},
           {ToRemedy({.command = Format("ip link set dev {} mtu {}", vlan.name(),
                                        port.netdev->mtu_bytes()),
                      .interrupts_traffic = true,
                      .note = "Also where the network is configured."})});
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail || !IsRoce(port) || !NetdevMtu(port)) continue;
    const v1::NetInterface* const vlan = VlanOf(port);
    if (vlan == nullptr || !vlan->has_mtu_bytes()) continue;
    if (RdmaMtuWithin(vlan->mtu_bytes()) < RdmaMtuWithin(port.netdev->mtu_bytes()))
      Fail(port, *vlan, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule vlan_mtu_not_below_lower = {
    .id = "vlan_mtu_not_below_lower",
    .title = "A VLAN that RDMA runs over has the MTU of the netdev below it",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Connections over the VLAN take its MTU: with 1500 over 9000 RDMA packets carry 1024 bytes "
        "instead of 4096, though the port shows an active MTU of 4096.",
    .source = "kernel drivers/infiniband/core/cma.c (iboe_get_mtu of the netdev)",
    .needs = "net_interfaces, bonds_and_vlans, gids",
    .fix = "ip link set dev VLAN mtu BYTES",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
