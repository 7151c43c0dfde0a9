// QoS that the switch port announces by DCBX, compared with the host: priority and traffic class of
// RoCE, owner of the settings.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// IEEE 802.1Q, selectors of the application priority table.
constexpr std::uint32_t kUdp = 3;
constexpr std::uint32_t kTcpOrUdp = 4;
constexpr std::uint32_t kDscp = 5;
constexpr std::uint32_t kRoceV2Port = 4791;

// Priority that the switch gives to RoCE: by UDP port, else by the DSCP of RoCE data.
std::optional<std::uint32_t> AnnouncedPriority(const PortView& port,
                                               const v1::LldpNeighbor& neighbor) {
  std::optional<std::uint32_t> by_dscp;
  for (const v1::LldpApp& app : neighbor.applications()) {
    const bool udp = app.selector() == kUdp || app.selector() == kTcpOrUdp;
    if (udp && app.protocol() == kRoceV2Port) return app.priority();
    if (app.selector() == kDscp && DataDscp(port) == app.protocol()) by_dscp = app.priority();
  }
  return by_dscp;
}

std::optional<LldpVerdict> JudgePriority(const PortView& port, const v1::LldpNeighbor& neighbor) {
  if (neighbor.applications().empty()) return {};
  const auto wanted = DataPriority(port);
  const auto seen = AnnouncedPriority(port, neighbor);
  if (!wanted || !seen) return {};
  return LldpVerdict{.verdict = *wanted == *seen ? v1::VERDICT_PASS : v1::VERDICT_FAIL,
                     .seen = *seen,
                     .expected = *wanted};
}

std::string ShowPriority(std::uint64_t priority) {
  return Format("{}", priority);
}

std::vector<v1::Remedy> PriorityRemedies(const PortView& port, const v1::LldpNeighbor&,
                                         const LldpVerdict& announced) {
  return {Query({.command = Format("dcb app show dev {}", WireName(port)),
                 .note = Format("Shows the map of the host. On the switch, map RoCE (UDP port "
                                "4791, or its DSCP) to priority {}. Or set the hosts to the "
                                "switch's priority, with PFC on it.",
                                announced.expected)})};
}

constexpr LldpRule kPriority = {.what = "priority of RoCE",
                                .judge = JudgePriority,
                                .show_seen = ShowPriority,
                                .show_expected = ShowPriority,
                                .unknown = "",
                                .remedies = PriorityRemedies};

// All priorities in the traffic class of one, including that one; empty when the map is incomplete.
template <class Map>
PriorityMask SameClass(const Map& priority_to_tc, std::uint32_t priority) {
  constexpr int kPriorities = PriorityMask::kPriorities;
  PriorityMask same;
  if (priority_to_tc.size() != kPriorities || priority >= PriorityMask::kPriorities) return same;
  for (int other = 0; other < kPriorities; ++other)
    if (priority_to_tc[other] == priority_to_tc[static_cast<int>(priority)])
      same.Add(static_cast<std::uint32_t>(other));
  return same;
}

// Compares the priorities in the class of RoCE: numbers of classes are local to a device.
std::optional<LldpVerdict> JudgeClass(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto priority = DataPriority(port);
  if (dcb == nullptr || !priority || !neighbor.has_ets_configuration()) return {};
  const PriorityMask host = SameClass(dcb->ets().priority_to_tc(), *priority);
  const PriorityMask seen = SameClass(neighbor.ets_configuration().priority_to_tc(), *priority);
  if (host.empty() || seen.empty()) return {};
  return LldpVerdict{.verdict = seen.Without(host).empty() ? v1::VERDICT_PASS : v1::VERDICT_FAIL,
                     .seen = seen.bits(),
                     .expected = host.bits()};
}

std::string ShowMask(std::uint64_t mask) {
  return ToText(PriorityMask(mask));
}

std::vector<v1::Remedy> ClassRemedies(const PortView& port, const v1::LldpNeighbor&,
                                      const LldpVerdict&) {
  return {Query({.command = Format("dcb ets show dev {}", WireName(port)),
                 .note = "Shows the classes of the host. On the switch, configure a separate "
                         "traffic class for RoCE with its share of the bandwidth."})};
}

constexpr LldpRule kClass = {.what = "priorities in the traffic class of RoCE",
                             .judge = JudgeClass,
                             .show_seen = ShowMask,
                             .show_expected = ShowMask,
                             .unknown = "",
                             .remedies = ClassRemedies};

// Does not apply to a host that uses its own settings.
std::optional<LldpVerdict> JudgeOwner(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_dcbx() || !neighbor.has_pfc()) return {};
  const bool follows = !dcb->dcbx().host() && dcb->dcbx().lld_managed();
  const bool both = follows && neighbor.pfc().willing();
  return LldpVerdict{.verdict = both ? v1::VERDICT_FAIL : v1::VERDICT_PASS,
                     .seen = neighbor.pfc().willing() ? 1U : 0U,
                     .expected = 0};
}

std::string ShowWilling(std::uint64_t willing) {
  return willing != 0 ? "willing, like the firmware of the host"
                      : "not willing, or a host that uses its own settings";
}

std::vector<v1::Remedy> OwnerRemedies(const PortView& port, const v1::LldpNeighbor&,
                                      const LldpVerdict&) {
  return SetDcbxHost(port, true,
                     "The host then uses its own settings. Or clear the willing bit of the switch "
                     "port, so that the switch decides.");
}

constexpr LldpRule kOneSideRule = {.what = "DCBX of the switch port",
                                   .judge = JudgeOwner,
                                   .show_seen = ShowWilling,
                                   .show_expected = ShowWilling,
                                   .unknown = "",
                                   .remedies = OwnerRemedies};

}  // namespace

extern const Rule switch_app_equals_host = {
    .id = "switch_app_equals_host",
    .title = "The switch port gives RoCE the same priority as the host",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_LINK,
    .why =
        "A switch that announces another priority for UDP port 4791 queues RoCE with other "
        "traffic. A host that follows the announcement changes its own map.",
    .source = "IEEE 802.1Qaz, application priority TLV; RoCE v2 is UDP port 4791",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "One priority for RoCE on switches and hosts",
    .lldp_rule = &kPriority,
};

extern const Rule switch_class_of_data_apart = {
    .id = "switch_class_of_data_apart",
    .title = "The switch port separates RoCE from the same priorities as the host",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_LINK,
    .why =
        "Where the switch queues RoCE with other traffic, that traffic takes bandwidth from RoCE, "
        "and stops whenever PFC pauses RoCE.",
    .source = "IEEE 802.1Qaz, ETS configuration TLV",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "A traffic class for RoCE on the switch",
    .lldp_rule = &kClass,
};

extern const Rule dcbx_one_side_decides = {
    .id = "dcbx_one_side_decides",
    .title = "Host and switch port do not both take PFC settings from the other",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_LINK,
    .why =
        "When both ends are willing, the settings of the one with the lower MAC address apply. "
        "The PFC of the link then depends on the card in the slot, and changes when the card is "
        "replaced.",
    .source = "IEEE 802.1Qaz, willing bit; symmetric state machine of PFC",
    .needs = {Input::kLldp, Input::kDcb},
    .reads = {{.field = Field::kLldp, .applies = IsLldpUnread}},
    .fix = "dcb dcbx set dev NETDEV host ieee, or a switch port that is not willing",
    .lldp_rule = &kOneSideRule,
};

}  // namespace fabric::rules
