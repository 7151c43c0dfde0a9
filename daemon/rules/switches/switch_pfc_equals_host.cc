#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Nothing for a port that differs from its profile: pfc_equal_on_rail and the rules on lossless
// profiles report the host, and the switch is not compared with it.
std::optional<PriorityMask> ComparableMask(const PortView& port) {
  const auto mask = PfcMask(port);
  if (!mask || LacksPfcUnderLossless(port)) return {};
  const bool lossy = port.expected().has_lossless() && !port.expected().lossless();
  if (lossy && mask->empty()) return {};  // PFC of the switch for other traffic does no harm.
  if (!port.expected().has_pfc_priorities()) return mask;
  const auto expected = PriorityMask::FromList(port.expected().pfc_priorities().priorities());
  return *mask == expected ? mask : std::nullopt;
}

// Without DCBX in LLDP: what the driver learned from its peer.
std::optional<PriorityMask> AnnouncedMask(const PortView& port, const v1::LldpNeighbor& neighbor) {
  if (neighbor.has_pfc()) return PriorityMask(neighbor.pfc().enabled_mask());
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb != nullptr && dcb->has_peer_pfc()) return PriorityMask(dcb->peer_pfc().enabled_mask());
  return {};
}

bool AnnouncesDcbx(const v1::LldpNeighbor& neighbor) {
  return neighbor.has_ets_configuration() || neighbor.has_ets_recommendation() ||
         neighbor.application_announced();
}

std::optional<LldpVerdict> JudgePfcLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const auto mask = ComparableMask(port);
  if (!mask) return {};
  const auto announced = AnnouncedMask(port, neighbor);
  if (announced) {
    const v1::Verdict verdict = *announced == *mask ? v1::VERDICT_PASS : v1::VERDICT_FAIL;
    return LldpVerdict{.verdict = verdict, .seen = announced->bits(), .expected = mask->bits()};
  }
  if (mask->empty() || !AnnouncesDcbx(neighbor)) return {};
  return LldpVerdict{.verdict = v1::VERDICT_UNKNOWN, .seen = 0, .expected = mask->bits()};
}

std::optional<std::uint64_t> MaskOnRail(const PortView& port) {
  const auto mask = PfcMask(port);
  return mask ? std::optional<std::uint64_t>(mask->bits()) : std::nullopt;
}

std::string Show(std::uint64_t mask) {
  return ToText(PriorityMask(mask));
}

std::vector<v1::Remedy> SwitchPfcRemedies(const PortView& port, const v1::LldpNeighbor& neighbor,
                                          const LldpVerdict& announced) {
  const std::string name = SwitchPort(neighbor);
  if (announced.expected == 0)
    return {Query({.command = Format("dcb pfc show dev {}", WireName(port)),
                   .note = "The switch port has PFC and the host does not. Decide which is "
                           "intended, and set all ports of the rail the same."})};
  const PriorityMask wanted(announced.expected);
  const PriorityMask seen(announced.seen);
  std::vector<std::string> commands;
  std::vector<std::string> undo;
  for (std::uint32_t priority = 0; priority < PriorityMask::kPriorities; ++priority) {
    if (wanted.Has(priority) == seen.Has(priority)) continue;
    const bool on = wanted.Has(priority);
    const std::string set = Format("config interface pfc priority {} {}", name, priority);
    commands.push_back(Format("{} {}", set, on ? "on" : "off"));
    undo.push_back(Format("{} {}", set, on ? "off" : "on"));
  }
  // Cumulus sets PFC for the whole switch (nv set qos roce): not a command for one port.
  return SwitchPortRemedies(
      neighbor, {.what = Format("PFC of port {} to priorities {}", name, ToText(wanted)),
                 .sonic = Join(commands, " && "),
                 .sonic_undo = Join(undo, " && "),
                 .cumulus = {},
                 .cumulus_undo = {},
                 .note = "The settings of PFC on Cumulus (nv set qos roce, nv set qos "
                         "pfc) are for the whole switch: compare with the other "
                         "ports before you change them."});
}

constexpr LldpRule kPfcLldpRule = {
    .what = "PFC enabled priorities",
    .judge = JudgePfcLink,
    .agreed = MaskOnRail,
    .show_seen = Show,
    .show_expected = Show,
    .unknown = "DCBX is announced without PFC: PFC of the switch port is not known",
    .remedies = SwitchPfcRemedies};

}  // namespace

extern const Rule switch_pfc_equals_host = {
    .id = "switch_pfc_equals_host",
    .title = "Switch port and host have PFC on for the same priorities",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_LINK,
    .why =
        "PFC works hop by hop. An end ignores pause frames for a priority without PFC, and the "
        "other end drops packets. When most ports of a switch differ, the rule reports one "
        "finding for the switch. A switch that announces DCBX without PFC may still use PFC: "
        "the verdict is UNKNOWN.",
    .source = "IEEE 802.1Qbb; IEEE 802.1Qaz, PFC configuration TLV",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber,
                v1::Expectations::kLosslessFieldNumber},
    .reads = {{.field = Field::kLldp, .applies = HasPfcOn}},
    .fix = "The same priorities on the switch port",
    .lldp_rule = &kPfcLldpRule,
};

}  // namespace fabric::rules
