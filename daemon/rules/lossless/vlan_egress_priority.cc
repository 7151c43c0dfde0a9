#include <algorithm>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The VLAN that the port's RoCE addresses are on; nullptr: none.
const v1::NetInterface* VlanOf(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr || !gid->has_netdev() || gid->netdev() == port.port->netdev()) return nullptr;
  for (const v1::NetInterface& netdev : port.node->snapshot.net_interfaces())
    if (netdev.name() == gid->netdev()) return netdev.has_vlan() ? &netdev : nullptr;
  return nullptr;
}

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::NetInterface* const vlan = VlanOf(port);
  if (vlan == nullptr) return;
  const std::uint32_t wanted = port.expected().data_priority();
  const auto& map = vlan->vlan().egress_priorities();
  if (wanted == 0 || std::find(map.begin(), map.end(), wanted) != map.end()) return out.Pass();
  FailOn(port,
         {.what = Format("egress priorities of {}", vlan->name()),
          .expected = Format("one of them {}", wanted),
          .seen = map.empty() ? "no map: all 0" : "another map",
          .source = Format("netlink route {}", vlan->name()),
          .basis = ProfileBasis(*port.expectation) + ", which trusts PCP"},
         {ToRemedy({.command = Format("ip link set dev {0} type vlan egress-qos-map 0:{1} {1}:{1}",
                                      vlan->name(), wanted),
                    .note = "By socket priority; what RDMA-CM and the kernel send on this VLAN."})},
         out);
}

// By DSCP the tag's priority does not matter, and without a profile nobody knows which is meant.
void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::Expectations& expected = port.expected();
    if (expected.trust() == v1::TRUST_PCP && expected.has_data_priority()) JudgePort(port, out);
  });
}

}  // namespace

extern const Rule vlan_egress_priority = {
    .id = "vlan_egress_priority",
    .title = "Where the profile trusts PCP, RoCE's VLAN tags some traffic with the data priority",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A VLAN without an egress map sends every frame with PCP 0. RDMA-CM takes the service "
        "level of a connection from this map: without an entry for the data priority its traffic "
        "rides in priority 0, which is lossy.",
    .source = "kernel drivers/infiniband/core/cma.c (iboe_tos_to_sl); ip-link(8), egress-qos-map",
    .needs = {Input::kBondsAndVlans, Input::kGids},
    .profile = {v1::Expectations::kTrustFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "ip link set dev VLAN type vlan egress-qos-map 0:PRIORITY",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
