#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// All priorities in the traffic class of one, that one included; 0 when the map is not whole.
template <class Map>
std::uint32_t ClassMates(const Map& priority_to_tc, std::uint32_t priority) {
  if (priority_to_tc.size() != 8 || priority >= 8) return 0;
  std::uint32_t mates = 0;
  for (int other = 0; other < 8; ++other)
    if (priority_to_tc[other] == priority_to_tc[static_cast<int>(priority)]) mates |= 1U << other;
  return mates;
}

// Numbers of classes mean nothing beyond one device: who shares one with RoCE does.
std::optional<LldpVerdict> JudgeLink(const PortView& port, const v1::LldpNeighbor& neighbor) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto priority = DataPriority(port);
  if (dcb == nullptr || !priority || !neighbor.has_ets_configuration()) return {};
  const std::uint32_t host = ClassMates(dcb->ets().priority_to_tc(), *priority);
  const std::uint32_t seen = ClassMates(neighbor.ets_configuration().priority_to_tc(), *priority);
  if (host == 0 || seen == 0) return {};
  return LldpVerdict{.verdict = (seen & ~host) != 0 ? v1::VERDICT_FAIL : v1::VERDICT_PASS,
                     .seen = seen,
                     .expected = host};
}

std::string Show(std::uint64_t mask) {
  return PriorityMask(static_cast<std::uint32_t>(mask));
}

std::vector<v1::Remedy> Remedies(const PortView& port, const v1::LldpNeighbor&,
                                 const LldpVerdict&) {
  return {ToRemedy({.command = Format("dcb ets show dev {}", WireName(port)),
                    .note = "What the host has. On the switch: a traffic class for RoCE alone, "
                            "with its share of the bandwidth."})};
}

constexpr LldpRule kLldpRule = {.what = "priorities in the traffic class of RoCE",
                                .judge = JudgeLink,
                                .show_seen = Show,
                                .show_expected = Show,
                                .unknown = "",
                                .remedies = Remedies};

}  // namespace

extern const Rule switch_class_of_data_apart = {
    .id = "switch_class_of_data_apart",
    .title = "The switch port keeps RoCE apart from what the host keeps it apart from",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_LINK,
    .why =
        "Where the switch queues RoCE with other traffic, that traffic takes its bandwidth, and "
        "stands still whenever PFC pauses RoCE.",
    .source = "IEEE 802.1Qaz, ETS configuration TLV",
    .needs = {Input::kLldp, Input::kDcb},
    .profile = {v1::Expectations::kDataPriorityFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .fix = "A traffic class for RoCE on the switch",
    .lldp_rule = &kLldpRule,
};

}  // namespace fabric::rules
