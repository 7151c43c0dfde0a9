#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// What the port should have: pfc_equal_on_rail and the rules on lossless profiles report a host
// that does not, and only one who has it is held against the switch.
std::optional<std::uint32_t> MaskOf(const PortView& port) {
  const auto mask = LosslessMask(port);
  if (!mask || LacksPfcUnderLossless(port)) return {};
  const bool lossy = port.expected().has_lossless() && !port.expected().lossless();
  if (lossy && *mask == 0) return {};  // What the switch keeps for others does no harm.
  if (!port.expected().has_pfc_priorities()) return mask;
  std::uint32_t expected = 0;
  for (const std::uint32_t priority : port.expected().pfc_priorities().priorities())
    expected |= 1U << (priority & 7U);
  return *mask == expected ? mask : std::nullopt;
}

// Some say nothing of DCBX at all; then what the driver learned of its peer counts.
std::optional<std::uint32_t> AnnouncedMask(const PortView& port, const v1::LldpNeighbor& neighbor) {
  if (neighbor.has_pfc()) return neighbor.pfc().enabled_mask() & 0xffU;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb != nullptr && dcb->has_peer_pfc()) return dcb->peer_pfc().enabled_mask() & 0xffU;
  return {};
}

bool AnnouncesDcbx(const v1::LldpNeighbor& neighbor) {
  return neighbor.has_ets_configuration() || neighbor.has_ets_recommendation() ||
         neighbor.application_announced();
}

std::optional<LldpVerdict> JudgeLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const auto mask = MaskOf(port);
  if (!mask) return {};
  const auto announced = AnnouncedMask(port, neighbor);
  if (announced) {
    const v1::Verdict verdict = *announced == *mask ? v1::VERDICT_PASS : v1::VERDICT_FAIL;
    return LldpVerdict{.verdict = verdict, .seen = *announced, .expected = *mask};
  }
  if (*mask == 0 || !AnnouncesDcbx(neighbor)) return {};
  return LldpVerdict{.verdict = v1::VERDICT_UNKNOWN, .seen = 0, .expected = *mask};
}

std::string Show(std::uint64_t mask) {
  return PriorityMask(static_cast<std::uint32_t>(mask));
}

std::vector<v1::Remedy> Remedies(const PortView& port, const v1::LldpNeighbor& neighbor,
                                 const LldpVerdict& announced) {
  const std::string name = SwitchPort(neighbor);
  if (announced.expected == 0)
    return {ToRemedy({.command = Format("dcb pfc show dev {}", WireName(port)),
                      .note = "The switch port has PFC, the host has none: decide which is meant, "
                              "and set all ports of the rail alike."})};
  unsigned priority = 0;
  while ((announced.expected >> priority & 1U) == 0) ++priority;
  return {ToRemedy({.platform = "sonic",
                    .command = Format("config interface pfc priority {} {} on", name, priority),
                    .interrupts_traffic = true,
                    .note = "On the switch."}),
          ToRemedy({.platform = "cumulus",
                    .command = "nv set qos roce && nv config apply",
                    .interrupts_traffic = true,
                    .note = "On the switch; PFC on priority 3 with the rest of its recipe."})};
}

constexpr LldpRule kLldpRule = {
    .what = "PFC enabled priorities",
    .judge = JudgeLink,
    .agreed = PfcMask,
    .show_seen = Show,
    .show_expected = Show,
    .unknown = "DCBX is announced without PFC: whether the switch port has it is not known",
    .remedies = Remedies};

}  // namespace

extern const Rule switch_pfc_equals_host = {
    .id = "switch_pfc_equals_host",
    .title = "Switch port and host have PFC on for the same priorities",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_LINK,
    .why =
        "PFC works hop by hop. What one end pauses on a priority that the other has not enabled is "
        "ignored, and packets are dropped: by the switch when the host does not listen, by the "
        "host when the switch does not. A switch most of whose ports differ is one finding. A "
        "switch that announces nothing of PFC may have it nevertheless: that is UNKNOWN.",
    .source = "IEEE 802.1Qbb; IEEE 802.1Qaz, PFC configuration TLV",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber,
                v1::Expectations::kLosslessFieldNumber},
    .fix = "The same priorities on the switch port",
    .lldp_rule = &kLldpRule,
};

}  // namespace fabric::rules
