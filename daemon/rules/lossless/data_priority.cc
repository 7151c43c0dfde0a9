// Maps that give RoCE data its priority: DSCP, UDP port 4791, egress map of the VLAN.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// trust_equal_on_rail and pfc_covers_roce_dscp judge the trust of the port.
void JudgeDscp(const PortView& port, Verdicts& out) {
  const v1::Expectations& expected = port.expected();
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || dcb->trust() != v1::TRUST_DSCP) return;
  const auto priority = PriorityOfDscp(*dcb, expected.data_dscp());
  if (!priority) return;
  if (*priority == expected.data_priority()) return out.Pass();
  FailOn(port,
         {.what = Format("priority of DSCP {}", expected.data_dscp()),
          .expected = Format("{}", expected.data_priority()),
          .seen = Format("{}", *priority),
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         SetDscpPriority(port, expected.data_dscp(), expected.data_priority()), out);
}

void EvaluateDscp(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().has_data_dscp() && port.expected().has_data_priority())
      JudgeDscp(port, out);
  });
}

v1::Remedy SetAppPriority(const PortView& port, std::uint32_t seen, std::uint32_t wanted) {
  const auto command = [&](std::uint32_t from, std::uint32_t to) {
    return Format(
        "dcb app del dev {0} dgram-port-prio 4791:{1} && dcb app add dev {0} "
        "dgram-port-prio 4791:{2}",
        WireName(port), from, to);
  };
  return Change({.command = command(seen, wanted),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsNothing,
                 .lasts = UntilReboot(kInBootUnit),
                 .undo = command(wanted, seen),
                 .note = "The driver refuses it while the firmware runs an LLDP agent."});
}

// Where trust is known to be PCP, trust_equal_on_rail and pfc_covers_roce_dscp judge.
bool HasDataMap(const Member& member) {
  const v1::Expectations& expected = member.expectation().values;
  const v1::DcbConfig* const dcb = DcbOf(*member.port);
  return dcb != nullptr && expected.has_data_dscp() && expected.has_data_priority();
}

void FailApp(const PortView& port, std::uint32_t seen, std::optional<std::uint32_t> wanted,
             std::string expected, std::string basis, Verdicts& out) {
  FailOn(port,
         {.what = "priority of UDP port 4791",
          .expected = std::move(expected),
          .seen = Format("{}", seen),
          .source = QosSource(port),
          .basis = std::move(basis)},
         {wanted ? SetAppPriority(port, seen, *wanted)
                 : Advice("Map UDP port 4791 to the priority of RoCE data, which is not known "
                          "here: state data_priority in the profile.")},
         out);
}

// pfc_equal_on_rail reports a port with another PFC mask than the other ports of its node.
void JudgeApp(const PortView& port, std::uint32_t seen, Verdicts& out) {
  const v1::Expectations& expected = port.expected();
  if (expected.has_data_priority()) {
    if (seen == expected.data_priority()) return out.Pass();
    return FailApp(port, seen, expected.data_priority(), Format("{}", expected.data_priority()),
                   ProfileBasis(*port.expectation), out);
  }
  if (!HasPfc(port)) return;
  const PriorityMask mask = *PfcMask(port);
  if (mask.Has(seen)) return out.Pass();
  if (!PfcIsEqualOnNode(port)) return;
  FailApp(port, seen, DataPriority(port), Format("one with PFC ({})", ToText(mask)),
          "RoCE v2 is UDP port 4791", out);
}

void EvaluateApp(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::DcbConfig* const dcb = DcbOf(port);
    if (dcb != nullptr && dcb->has_roce_v2_priority()) JudgeApp(port, dcb->roce_v2_priority(), out);
  });
}

// The VLAN of the port's RoCE addresses; nullptr when there is none.
const v1::NetInterface* VlanInterfaceOf(const PortView& port) {
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  if (gid == nullptr || !gid->has_netdev() || gid->netdev() == port.port->netdev()) return nullptr;
  for (const v1::NetInterface& netdev : port.node->snapshot.net_interfaces())
    if (netdev.name() == gid->netdev()) return netdev.has_vlan() ? &netdev : nullptr;
  return nullptr;
}

void JudgeVlan(const PortView& port, Verdicts& out) {
  const v1::NetInterface* const vlan = VlanInterfaceOf(port);
  if (vlan == nullptr) return;
  const std::uint32_t wanted = port.expected().data_priority();
  const auto& map = vlan->vlan().egress_priorities();
  if (wanted == 0 || std::find(map.begin(), map.end(), wanted) != map.end()) return out.Pass();
  FailOn(port,
         {.what = Format("egress priorities of {}", vlan->name()),
          .expected = Format("a map with {}", wanted),
          .seen = map.empty() ? "no map: all 0" : "another map",
          .source = Format("netlink route {}", vlan->name()),
          .basis = ProfileBasis(*port.expectation) + ", which trusts PCP"},
         {Change({.command = Format("ip link set dev {0} type vlan egress-qos-map 0:{1} {1}:{1}",
                                    vlan->name(), wanted),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot(kInNetworkConfiguration),
                  .undo = Format("ip link set dev {0} type vlan egress-qos-map 0:0 {1}:0",
                                 vlan->name(), wanted),
                  .note = "Maps socket priorities. Applies to traffic of RDMA-CM and the kernel "
                          "on this VLAN."})},
         out);
}

// The priority of the tag has no effect when ports trust DSCP. Without a profile the intended one
// is not known.
void EvaluateVlan(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const v1::Expectations& expected = port.expected();
    if (expected.trust() == v1::TRUST_PCP && expected.has_data_priority()) JudgeVlan(port, out);
  });
}

}  // namespace

extern const Rule data_dscp_has_data_priority = {
    .id = "data_dscp_has_data_priority",
    .title = "The DSCP of RoCE data maps to the profile's data priority",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "In another priority, RoCE packets have neither the buffer nor the bandwidth share nor "
        "the flow control that the fabric reserves for RoCE. They are lossy although every PFC "
        "setting looks right. One entry set by hand is enough, or a driver that was reloaded "
        "without its script.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); kernel include/uapi/linux/dcbnl.h",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataDscpFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kTrust, .applies = HasDataMap},
              {.field = Field::kDscpMap, .applies = HasDataMap, .always = true}},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .evaluate_node = EvaluateDscp,
};

extern const Rule roce_app_priority_has_pfc = {
    .id = "roce_app_priority_has_pfc",
    .title =
        "An APP entry for UDP port 4791 gives RoCE the profile's data priority, else one with PFC",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Broadcom and Intel drivers take the priority of RoCE from this entry, and mark and queue "
        "RoCE with it. When PFC is on for another priority, RoCE is lossy. A common mistake is "
        "two entries with different priorities: the highest one counts.",
    .source =
        "IEEE 802.1Qaz (APP table, selector 3); kernel drivers/net/ethernet/broadcom/bnxt/"
        "bnxt_dcb.c",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .fix = "dcb app add dev NETDEV dgram-port-prio 4791:PRIORITY",
    .evaluate_node = EvaluateApp,
};

extern const Rule vlan_egress_priority = {
    .id = "vlan_egress_priority",
    .title = "If the profile trusts PCP, the VLAN of RoCE can tag frames with the data priority",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A VLAN without an egress map sends every frame with PCP 0. RDMA-CM takes the service "
        "level of a connection from this map. Without an entry for the data priority its traffic "
        "uses priority 0, which is lossy.",
    .source = "kernel drivers/infiniband/core/cma.c (iboe_tos_to_sl); ip-link(8), egress-qos-map",
    .needs = {Input::kBondsAndVlans, Input::kGids},
    .profile = {v1::Expectations::kTrustFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "ip link set dev VLAN type vlan egress-qos-map 0:PRIORITY",
    .evaluate_node = EvaluateVlan,
};

}  // namespace fabric::rules
