#include <algorithm>

#include "base/priority_mask.h"
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// The first difference between two members, as the finding shows it.
struct Difference {
  const char* what = nullptr;  // nullptr if they are equal
  std::string first;
  std::string other;
};

// The first list that both report and that differs.
template <class List>
bool Differ(const List& a, const List& b) {
  return !a.empty() && !b.empty() && !std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Difference BetweenDcb(const v1::DcbConfig& first, const v1::DcbConfig& other) {
  if (first.has_pfc() && other.has_pfc() &&
      first.pfc().enabled_mask() != other.pfc().enabled_mask())
    return {.what = "PFC enabled priorities",
            .first = ToText(PriorityMask(first.pfc().enabled_mask())),
            .other = ToText(PriorityMask(other.pfc().enabled_mask()))};
  if (first.has_trust() && other.has_trust() && first.trust() != other.trust())
    return {.what = "trust",
            .first = std::string(Name(first.trust())),
            .other = std::string(Name(other.trust()))};
  if (Differ(first.dscp_to_priority(), other.dscp_to_priority()))
    return {.what = "map of DSCP to priority", .first = "one map", .other = "another map"};
  if (Differ(first.ets().priority_to_tc(), other.ets().priority_to_tc()) ||
      Differ(first.ets().tc_algorithm(), other.ets().tc_algorithm()) ||
      Differ(first.ets().tc_tx_bandwidth_percent(), other.ets().tc_tx_bandwidth_percent()))
    return {.what = "ETS", .first = "one schedule", .other = "another schedule"};
  if (Differ(first.max_rate_bps(), other.max_rate_bps()))
    return {.what = "rate limits", .first = "one list", .other = "another list"};
  if (first.has_dcbx() && other.has_dcbx() && first.dcbx().host() != other.dcbx().host())
    return {.what = "owner of DCBX",
            .first = first.dcbx().host() ? "host" : "firmware",
            .other = other.dcbx().host() ? "host" : "firmware"};
  return {};
}

std::string ShowPause(const v1::GlobalPause& pause) {
  return Format("rx {}, tx {}", pause.rx() ? "on" : "off", pause.tx() ? "on" : "off");
}

Difference Between(const v1::NetInterface& first, const v1::NetInterface& other) {
  const Difference dcb = BetweenDcb(first.dcb(), other.dcb());
  if (dcb.what != nullptr) return dcb;
  if (first.has_global_pause() && other.has_global_pause() &&
      (first.global_pause().rx() != other.global_pause().rx() ||
       first.global_pause().tx() != other.global_pause().tx()))
    return {.what = "global pause",
            .first = ShowPause(first.global_pause()),
            .other = ShowPause(other.global_pause())};
  const v1::CongestionControl& a = first.congestion_control();
  const v1::CongestionControl& b = other.congestion_control();
  if (Differ(a.notification_point_enabled(), b.notification_point_enabled()) ||
      Differ(a.reaction_point_enabled(), b.reaction_point_enabled()))
    return {.what = "ECN", .first = "one set of priorities", .other = "another set"};
  if (a.has_cnp_dscp() && b.has_cnp_dscp() && a.cnp_dscp() != b.cnp_dscp())
    return {.what = "DSCP of CNPs",
            .first = Format("{}", a.cnp_dscp()),
            .other = Format("{}", b.cnp_dscp())};
  return {};
}

void Fail(const PortView& port, const v1::NetInterface& first, const v1::NetInterface& other,
          const Difference& difference, Verdicts& out) {
  FailOn(
      port,
      {.what = Format("{} of {}", difference.what, other.name()),
       .expected = difference.first,
       .seen = difference.other,
       .source = std::string_view(difference.what) == "global pause"
                     ? "netlink ethtool pause " + other.name()
                     : "netlink dcb " + other.name(),
       .basis = Format("as {}, in the same bond {}", first.name(), port.netdev->name())},
      {Query({.command = Format("dcb pfc show dev {0}; dcb ets show dev {0}; dcb app show dev {0}; "
                                "ethtool -a {0}",
                                other.name()),
              .note = Format("Compare with {}, then set the differences.", first.name())})},
      out);
}

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::NetInterface* first = nullptr;
  bool compared = false;
  for (const std::string& name : port.netdev->bond().members()) {
    const v1::NetInterface* const member = FindNetdev(port.node->snapshot, name);
    if (member == nullptr || !member->has_dcb()) continue;
    if (first == nullptr) {
      first = member;
      continue;
    }
    const Difference difference = Between(*first, *member);
    if (difference.what != nullptr) return Fail(port, *first, *member, difference, out);
    compared = true;
  }
  if (compared) out.Pass();
}

void EvaluateBondMembersSettingsEqual(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.netdev != nullptr && port.netdev->has_bond()) JudgePort(port, out);
  });
}

bool IsOnBond(const Member& port) {
  return IsRoceInUse(port) && port.port->netdev != nullptr && port.port->netdev->has_bond();
}

}  // namespace

extern const Rule bond_members_settings_equal = {
    .id = "bond_members_settings_equal",
    .title = "The members of a bond that carries RoCE have the same settings of lossless traffic",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A bond sends over any of its members. With PFC or trust set on one member only, half of "
        "the connections are lossy, and different ones after each job and failover. The tools set "
        "netdevs, and a bond itself has no such setting, so the second member is often omitted.",
    .source = "NVIDIA RoCE over LAG; kernel drivers/net/bonding (no DCB settings)",
    .needs = {Input::kDcb, Input::kBondsAndVlans},
    .reads = {{.field = Field::kTrust, .applies = IsOnBond}},
    .fix = "The same settings on each member: dcb pfc set dev MEMBER ...",
    .evaluate_node = EvaluateBondMembersSettingsEqual,
};

}  // namespace fabric::rules
