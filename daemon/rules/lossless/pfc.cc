// PFC: equal on a rail, not more priorities than the NIC supports, storm prevention.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

struct PfcLimit {
  int priorities = 0;  // 0: not known
  const char* basis = "";
};

// ice reports all its classes as capability, and supports one.
PfcLimit PfcLimitOf(const PortView& port) {
  if (DriverOf(port) == "ice") return {.priorities = 1, .basis = "Intel 800 series"};
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr) return {};
  return {.priorities = static_cast<int>(dcb->pfc().capability()),
          .basis = "capability of the NIC"};
}

// A profile that lists the priorities has precedence.
bool ExceedsPfcLimit(const PortView& port) {
  const auto mask = PfcMask(port);
  if (port.expected().has_pfc_priorities() || !mask || mask->count() < 2) return false;
  const PfcLimit limit = PfcLimitOf(port);
  return limit.priorities != 0 && mask->count() > limit.priorities;
}

// Without PFC under a lossless profile: see LacksPfcUnderLossless(). With PFC on more priorities
// than the NIC supports: pfc_within_capability.
bool IsReportedElsewhere(const PortView& port) {
  return LacksPfcUnderLossless(port) || ExceedsPfcLimit(port);
}

std::optional<Value> MaskOf(const Member& member) {
  if (IsReportedElsewhere(*member.port)) return {};
  const auto mask = PfcMask(*member.port);
  return mask ? std::optional(Value{mask->bits()}) : std::nullopt;
}

bool IsNeeded(const Member& member) {
  return CarriesRoce(*member.port) && !IsReportedElsewhere(*member.port);
}

std::optional<Value> ExpectedPfc(const v1::Expectations& expected) {
  if (!expected.has_pfc_priorities()) return {};
  return Value{PriorityMask::FromList(expected.pfc_priorities().priorities()).bits()};
}

// Where PFC could not be read: the source that the inspector names in its gap.
std::string PfcSource(const Member& member) {
  return PfcMask(*member.port) ? QosSource(member) : "netlink dcb " + WireName(*member.port);
}

std::vector<v1::Remedy> PfcRemedies(const Member& member, const Value& expected) {
  return SetPfc(*member.port, PriorityMask(expected.number));
}

constexpr EqualityRule kPfc[] = {{.what = "PFC enabled priorities",
                                  .value = MaskOf,
                                  .expected = ExpectedPfc,
                                  .kept_when_down = true,
                                  .show = ShowPriorities,
                                  .source = PfcSource,
                                  .remedies = PfcRemedies}};

void JudgeLimit(const PortView& port, PriorityMask mask, Verdicts& out) {
  const PfcLimit limit = PfcLimitOf(port);
  if (limit.priorities == 0) return;
  if (!ExceedsPfcLimit(port)) return out.Pass();
  FailOn(port,
         {.what = "PFC enabled priorities",
          .expected = Format("at most {}", limit.priorities),
          .seen = ToText(mask),
          .source = QosSource(port),
          .basis = limit.basis},
         SetDataPfc(port, "Keep PFC on for RoCE data only."), out);
}

void EvaluateLimit(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (HasPfc(port) && !port.expected().has_pfc_priorities())
      JudgeLimit(port, *PfcMask(port), out);
  });
}

// Storm prevention has an effect only where PFC is on.
std::optional<Value> StormPrevention(const Member& member) {
  const PortView& port = *member.port;
  if (!HasPfc(port) || !port.wire->has_pfc_storm_prevention_ms()) return {};
  return Value{port.wire->pfc_storm_prevention_ms() != 0 ? 1U : 0U};
}

std::optional<Value> ExpectedStormPrevention(const v1::Expectations& expected) {
  if (!expected.has_pfc_storm_prevention()) return {};
  return Value{expected.pfc_storm_prevention() ? 1U : 0U};
}

std::string StormPreventionSource(const Member& member) {
  return "ethtool pfc-prevention-tout " + WireName(*member.port);
}

std::vector<v1::Remedy> SetStormPrevention(const Member& member, const Value& expected) {
  const bool on = expected.number != 0;
  const auto command = [&](std::uint32_t timeout) {
    return Format("ethtool --set-tunable {} pfc-prevention-tout {}", WireName(*member.port),
                  timeout);
  };
  return {Change({.platform = on ? "mlx5" : "any",
                  .command = command(on ? 65535 : 0),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot(kInBootUnit),
                  .undo = command(member.port->wire->pfc_storm_prevention_ms()),
                  .note = on ? "65535: automatic, 100 ms." : ""})};
}

constexpr EqualityRule kStormPrevention[] = {{.what = "PFC storm prevention",
                                              .group = ByRailAndDriver,
                                              .value = StormPrevention,
                                              .expected = ExpectedStormPrevention,
                                              .kept_when_down = true,
                                              .show = ShowOnOff,
                                              .source = StormPreventionSource,
                                              .remedies = SetStormPrevention}};

}  // namespace

extern const Rule pfc_equal_on_rail = {
    .id = "pfc_equal_on_rail",
    .title = "All RoCE ports of a rail have PFC on for the same priorities",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port without PFC on the priority that the others use loses packets under incast, and "
        "one lost packet stalls a whole RoCE connection. An idle fabric shows nothing of it. The "
        "rule expects the priorities of most ports of the rail. Without a majority it reports the "
        "rail and no single port.",
    .source = "IEEE 802.1Qbb; kernel include/uapi/linux/dcbnl.h (struct ieee_pfc)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kPfcPrioritiesFieldNumber},
    .reads = {{.field = Field::kPfc, .applies = IsNeeded, .always = true}},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .equality_rules = kPfc,
};

extern const Rule pfc_within_capability = {
    .id = "pfc_within_capability",
    .title = "PFC is on for no more priorities than the NIC has lossless buffers for",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each lossless priority takes headroom from the port's buffer. With more of them than the "
        "NIC supports, some are lossless in name only and drop packets under load. Switches, too, "
        "have headroom for two or three.",
    .source = "kernel include/uapi/linux/dcbnl.h (pfc_cap); Intel Ethernet 800 series, doc 635330",
    .needs = {Input::kDcb},
    .fix = "dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = EvaluateLimit,
};

extern const Rule pfc_storm_prevention_on = {
    .id = "pfc_storm_prevention_on",
    .title =
        "PFC storm prevention of the NIC has the setting of the profile; without a profile, all "
        "ports of a rail have the same",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A host that hangs with PFC on sends pause frames as long as it hangs. The switches pass "
        "the pause on until the whole fabric stops. With prevention on, the NIC stops pausing "
        "after a time and drops packets instead: only this host is affected. It is on by default.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_ethtool.c (pfc-prevention-tout)",
    .needs = {Input::kPfcStormPrevention, Input::kDcb},
    .profile = {v1::Expectations::kPfcStormPreventionFieldNumber},
    .reads = {{.field = Field::kStormPrevention,
               .applies = HasPfcOn,
               .profile = v1::Expectations::kPfcStormPreventionFieldNumber},
              {.field = Field::kStormPrevention, .applies = HasPfcOn}},
    .fix = "ethtool --set-tunable NETDEV pfc-prevention-tout 65535",
    .equality_rules = kStormPrevention,
};

}  // namespace fabric::rules
