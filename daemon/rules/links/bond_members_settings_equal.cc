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
using v1::NetInterface;

template <class List>
std::string ListText(const List& list) {
  std::vector<std::string> words;
  for (const auto& each : list) words.push_back(Format("{}", each));
  return Join(words, " ");
}

std::string PfcText(const NetInterface& member) {
  if (!member.dcb().has_pfc()) return {};
  return ToText(PriorityMask(member.dcb().pfc().enabled_mask()));
}
std::string TrustText(const NetInterface& member) {
  return member.dcb().has_trust() ? std::string(Name(member.dcb().trust())) : std::string();
}
std::string EtsText(const NetInterface& member) {
  const v1::Ets& ets = member.dcb().ets();
  if (ets.tc_tx_bandwidth_percent().empty()) return {};
  return Format("classes {}; algorithms {}; shares {}", ListText(ets.priority_to_tc()),
                ListText(ets.tc_algorithm()), ListText(ets.tc_tx_bandwidth_percent()));
}
std::string DcbxText(const NetInterface& member) {
  if (!member.dcb().has_dcbx()) return {};
  return member.dcb().dcbx().host() ? "host" : "firmware";
}
std::string BuffersText(const NetInterface& member) {
  const v1::PriorityBuffers& buffers = member.dcb().buffers();
  if (buffers.size_bytes().empty()) return {};
  return Format("sizes {}; buffers of priorities {}", ListText(buffers.size_bytes()),
                ListText(buffers.priority_to_buffer()));
}
std::string PauseText(const NetInterface& member) {
  if (!member.has_global_pause()) return {};
  return Format("rx {}, tx {}", member.global_pause().rx() ? "on" : "off",
                member.global_pause().tx() ? "on" : "off");
}
std::string EcnText(const NetInterface& member) {
  const v1::CongestionControl& control = member.congestion_control();
  if (control.notification_point_enabled().empty()) return {};
  return Format("{} / {}", ListText(control.notification_point_enabled()),
                ListText(control.reaction_point_enabled()));
}
std::string ParametersText(const NetInterface& member) {
  std::vector<std::string> words;
  for (const v1::CongestionParameter& each : member.congestion_control().parameters())
    words.push_back(Format("{} {}", each.name(), each.value()));
  return Join(words, ", ");
}

template <auto kHas, auto kGet>
std::string ControlText(const NetInterface& member) {
  const v1::CongestionControl& control = member.congestion_control();
  return (control.*kHas)() ? Format("{}", (control.*kGet)()) : std::string();
}

// A setting that members share. Empty text: not known.
struct MemberSetting {
  const char* what;
  std::string (*text)(const NetInterface& member);
  std::string (*source)(const std::string& netdev);
};
std::string MemberDcbSource(const std::string& netdev) {
  return "netlink dcb " + netdev;
}
std::string MemberEcnSource(const std::string& netdev) {
  return Format("sys/class/net/{}/ecn", netdev);
}
std::string MemberPauseSource(const std::string& netdev) {
  return "netlink ethtool pause " + netdev;
}
std::string MemberEthtoolSource(const std::string& netdev) {
  return "netlink ethtool " + netdev;
}
using Control = v1::CongestionControl;

constexpr MemberSetting kMemberSettings[] = {
    {"PFC enabled priorities", PfcText, MemberDcbSource},
    {"trust", TrustText, MemberDcbSource},
    {"map of DSCP to priority",
     [](const NetInterface& member) { return ListText(member.dcb().dscp_to_priority()); },
     MemberDcbSource},
    {"ETS", EtsText, MemberDcbSource},
    {"rate limits",
     [](const NetInterface& member) { return ListText(member.dcb().max_rate_bps()); },
     MemberDcbSource},
    {"owner of DCBX", DcbxText, MemberDcbSource},
    {"buffers", BuffersText, MemberDcbSource},
    {"cable length",
     [](const NetInterface& member) {
       return member.dcb().has_cable_length_m() ? Format("{} m", member.dcb().cable_length_m())
                                                : std::string();
     },
     MemberDcbSource},
    {"global pause", PauseText, MemberPauseSource},
    {"ECN", EcnText, MemberEcnSource},
    {"DSCP of CNPs", ControlText<&Control::has_cnp_dscp, &Control::cnp_dscp>, MemberEcnSource},
    {"priority of CNPs", ControlText<&Control::has_cnp_priority, &Control::cnp_priority>,
     MemberEcnSource},
    {"interval of CNPs",
     ControlText<&Control::has_min_time_between_cnps_us, &Control::min_time_between_cnps_us>,
     MemberEcnSource},
    {"parameters of congestion control", ParametersText, MemberEcnSource},
    {"PFC storm prevention",
     [](const NetInterface& member) {
       return member.has_pfc_storm_prevention_ms()
                  ? Format("{} ms", member.pfc_storm_prevention_ms())
                  : std::string();
     },
     MemberEthtoolSource},
};

constexpr std::size_t kTextShownMax = 40;  // Longer texts are lists

v1::Remedy ShowSettings(const NetInterface& member) {
  return Query({.command = Format("dcb pfc show dev {0}; dcb ets show dev {0}; dcb app show dev "
                                  "{0}; ethtool -a {0}",
                                  member.name()),
                .note = "Compare the members with each other, and with a good node. Then set the "
                        "differences on the member that is wrong."});
}

// This rule does not know which member is wrong. The rules that compare nodes name the port.
void Fail(const PortView& port, const NetInterface& first, const NetInterface& other,
          const MemberSetting& setting, Verdicts& out) {
  const std::string one = setting.text(first);
  const std::string another = setting.text(other);
  const bool is_list = one.size() > kTextShownMax || another.size() > kTextShownMax;
  FailOn(port,
         {.what = Format("{} of bond members", setting.what),
          .expected = "the same",
          .seen = is_list ? Format("differ between {} and {}", first.name(), other.name())
                          : Format("{} on {}, {} on {}", one, first.name(), another, other.name()),
          .source = setting.source(other.name()),
          .basis = "members of " + port.netdev->name()},
         {ShowSettings(first), ShowSettings(other)}, out);
}

// Settings that one of two members reports, and the other one does not.
struct UnreadSettings {
  std::vector<std::string> what;
  std::string member;
  std::string source;
};

void ReportUnread(const PortView& port, const UnreadSettings& unread, Verdicts& out) {
  out.Unknown(port.Subject(),
              Format("{} of {} could not be read, other members of the bond {} have them",
                     Listed(unread.what), unread.member, port.netdev->name()),
              {ToEvidence(*port.node, {.what = ListedAll(unread.what),
                                       .expected = "as on the other members",
                                       .seen = "not readable",
                                       .source = unread.source,
                                       .basis = "the same bond",
                                       .unread = true})});
}

// False: a finding was made.
bool CompareMembers(const PortView& port, const NetInterface& first, const NetInterface& other,
                    UnreadSettings& unread, Verdicts& out) {
  for (const MemberSetting& setting : kMemberSettings) {
    const std::string expected = setting.text(first);
    const std::string seen = setting.text(other);
    if (expected == seen) continue;
    if (!expected.empty() && !seen.empty()) {
      Fail(port, first, other, setting, out);
      return false;
    }
    const NetInterface& silent = seen.empty() ? other : first;
    if (unread.what.empty()) {
      unread.member = silent.name();
      unread.source = setting.source(silent.name());
    }
    unread.what.emplace_back(setting.what);
  }
  return true;
}

void JudgePort(const PortView& port, Verdicts& out) {
  const NetInterface* first = nullptr;
  bool compared = false;
  UnreadSettings unread;
  for (const std::string& name : port.netdev->bond().members()) {
    const NetInterface* const member = FindNetdev(port.node->snapshot, name);
    if (member == nullptr) continue;
    if (first != nullptr) {
      if (!CompareMembers(port, *first, *member, unread, out)) return;
      compared = compared || first->has_dcb() || member->has_dcb();
    }
    if (first == nullptr) first = member;
  }
  if (!unread.what.empty())
    ReportUnread(port, unread, out);
  else if (compared)
    out.Pass();
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
