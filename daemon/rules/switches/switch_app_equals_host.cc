#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// IEEE 802.1Q, selectors of the application priority table.
constexpr std::uint32_t kUdp = 3;
constexpr std::uint32_t kTcpOrUdp = 4;
constexpr std::uint32_t kDscp = 5;
constexpr std::uint32_t kRoceV2Port = 4791;

// Priority that the switch gives to RoCE: by its port, else by the DSCP of its data.
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

std::optional<LldpVerdict> JudgeLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  if (neighbor.applications().empty()) return {};
  const auto wanted = DataPriority(port);
  const auto seen = AnnouncedPriority(port, neighbor);
  if (!wanted || !seen) return {};
  return LldpVerdict{.verdict = *wanted == *seen ? v1::VERDICT_PASS : v1::VERDICT_FAIL,
                     .seen = *seen,
                     .expected = *wanted};
}

std::string Show(std::uint64_t priority) {
  return Format("{}", priority);
}

std::vector<v1::Remedy> Remedies(const PortView& port, const v1::LldpNeighbor&,
                                 const LldpVerdict& announced) {
  return {ToRemedy({.command = Format("dcb app show dev {}", WireName(port)),
                    .note = Format("What the host has. On the switch: map RoCE (UDP port 4791, or "
                                   "its DSCP) to priority {}, or give the hosts the switch's "
                                   "priority, with PFC on it.",
                                   announced.expected)})};
}

constexpr LldpRule kLldpRule = {.what = "priority of RoCE",
                                .judge = JudgeLink,
                                .show_seen = Show,
                                .show_expected = Show,
                                .unknown = "",
                                .remedies = Remedies};

}  // namespace

extern const Rule switch_app_equals_host = {
    .id = "switch_app_equals_host",
    .title = "The switch port gives RoCE the priority that the host gives it",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_LINK,
    .why =
        "A switch that announces another priority for UDP port 4791 was set up for another "
        "recipe: it queues RoCE with other traffic, and a host that follows the announcement "
        "changes its own map.",
    .source = "IEEE 802.1Qaz, application priority TLV; RoCE v2 is UDP port 4791",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .fix = "One priority for RoCE on switches and hosts",
    .lldp_rule = &kLldpRule,
};

}  // namespace fabric::rules
