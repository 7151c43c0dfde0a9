#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// A host whose own settings hold needs nobody to decide.
std::optional<LldpVerdict> JudgeLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_dcbx() || !neighbor.has_pfc()) return {};
  const bool follows = !dcb->dcbx().host() && dcb->dcbx().lld_managed();
  const bool both = follows && neighbor.pfc().willing();
  return LldpVerdict{.verdict = both ? v1::VERDICT_FAIL : v1::VERDICT_PASS,
                     .seen = neighbor.pfc().willing() ? 1U : 0U,
                     .expected = 0};
}

std::string Show(std::uint64_t willing) {
  return willing != 0 ? "willing, as the host's firmware is"
                      : "not willing, or a host that decides";
}

std::vector<v1::Remedy> Remedies(const PortView& port, const v1::LldpNeighbor&,
                                 const LldpVerdict&) {
  if (DriverOf(port) == "ice")
    return {ToRemedy(
        {.platform = "ice",
         .command = Format("ethtool --set-priv-flags {} fw-lldp-agent off", WireName(port)),
         .interrupts_traffic = true,
         .note = "Then set PFC, ETS and the DSCP map on the host."})};
  return WithMlnxQos(port,
                     {.command = Format("dcb dcbx set dev {} host ieee", WireName(port)),
                      .note = "The host decides for itself; or take the willing bit off the switch "
                              "port, so that the switch does."},
                     "-d os");
}

constexpr LldpRule kLldpRule = {.what = "DCBX of the switch port",
                                .judge = JudgeLink,
                                .show_seen = Show,
                                .show_expected = Show,
                                .unknown = "",
                                .remedies = Remedies};

}  // namespace

extern const Rule dcbx_one_side_decides = {
    .id = "dcbx_one_side_decides",
    .title = "Of host and switch port one decides on PFC: not both follow the other",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_LINK,
    .why =
        "When both ends are willing, the one with the lower MAC address wins: what PFC the link "
        "has depends on which card is in the slot, and changes when it is replaced.",
    .source = "IEEE 802.1Qaz, willing bit; symmetric state machine of PFC",
    .needs = {Input::kLldp, Input::kDcb},
    .fix = "dcb dcbx set dev NETDEV host ieee, or a switch port that is not willing",
    .lldp_rule = &kLldpRule,
};

}  // namespace fabric::rules
