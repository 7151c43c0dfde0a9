// Global pause (IEEE 802.3x): equal on a rail, off where PFC is on, not instead of PFC.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kRx = 1;
constexpr std::uint64_t kTx = 2;

// Other rules judge ports with PFC, and ports without it under a lossless profile.
std::optional<Value> PauseBits(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || PauseOf(port) == Pause::kUnknown || LacksPfcUnderLossless(port) ||
      HasPfc(port))
    return {};
  const v1::GlobalPause& pause = port.wire->global_pause();
  return Value{(pause.rx() ? kRx : 0) | (pause.tx() ? kTx : 0)};
}

std::optional<Value> ExpectedGlobalPause(const v1::Expectations& expected) {
  if (!expected.has_global_pause()) return {};
  return Value{expected.global_pause() ? kRx | kTx : 0};
}

std::string ShowPause(const Value& value) {
  return Format("rx {} tx {}", (value.number & kRx) != 0 ? "on" : "off",
                (value.number & kTx) != 0 ? "on" : "off");
}

std::string Source(const Member& member) {
  return PauseSource(*member.port);
}

std::vector<v1::Remedy> GlobalPauseRemedies(const Member& member, const Value& expected) {
  return SetGlobalPause(*member.port, (expected.number & kRx) != 0, (expected.number & kTx) != 0);
}

constexpr EqualityRule kPause[] = {{.what = "global pause",
                                    .group = ByRailAndDriver,
                                    .value = PauseBits,
                                    .expected = ExpectedGlobalPause,
                                    .kept_when_down = true,
                                    .show = ShowPause,
                                    .source = Source,
                                    .remedies = GlobalPauseRemedies}};

std::string Directions(const v1::GlobalPause& pause) {
  return pause.rx() && pause.tx() ? "rx and tx on" : pause.rx() ? "rx on" : "tx on";
}

void EvaluateWithPfc(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    const Pause pause = PauseOf(port);
    if (!HasPfc(port) || pause == Pause::kUnknown) return;
    if (pause == Pause::kOff) return out.Pass();
    FailOn(port,
           {.what = "global pause",
            .expected = "off",
            .seen = Directions(port.wire->global_pause()),
            .source = PauseSource(port),
            .basis = Format("PFC is on for {}", ToText(*PfcMask(port)))},
           SetGlobalPause(port, false, false), out);
  });
}

void JudgeInsteadOfPfc(const PortView& port, Verdicts& out) {
  const auto mask = PfcMask(port);
  if (!mask || (mask->empty() && PauseOf(port) != Pause::kOn)) return;
  if (!mask->empty()) return out.Pass();
  FailOn(port,
         {.what = "flow control",
          .expected = "PFC",
          .seen = "global pause",
          .source = PauseSource(port),
          .basis = ProfileBasis(*port.expectation) + ", lossless"},
         After(SetGlobalPause(port, false, false).front(),
               SetDataPfc(port, "Change the switch port at the same time.")),
         out);
}

// Does not judge a profile that requires global pause.
void EvaluateInsteadOfPfc(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().lossless() && !port.expected().global_pause()) JudgeInsteadOfPfc(port, out);
  });
}

// Virtual functions and software do not report global pause.
bool ReportsPauseWithPfc(const Member& port) {
  return HasPfcOn(port) && IsHardware(port);
}
bool ReportsPauseWithoutPfc(const Member& port) {
  return LacksPfcNow(port) && IsHardware(port);
}

}  // namespace

extern const Rule global_pause_equal_on_rail = {
    .id = "global_pause_equal_on_rail",
    .title =
        "RoCE ports without PFC have the global pause setting of the profile; without a profile, "
        "all ports of a rail have the same",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Where global pause keeps RoCE lossless, the one port without it drops packets. Where RoCE "
        "is lossy by design, the one port with it stalls everything behind it. ethtool settings "
        "are lost at reboot unless they are in a configuration file.",
    .source = "IEEE 802.3 annex 31B; ethtool(8), --pause",
    .needs = {Input::kGlobalPause, Input::kDcb},
    .profile = {v1::Expectations::kGlobalPauseFieldNumber},
    .reads = {{.field = Field::kPause,
               .applies = LacksPfcNow,
               .profile = v1::Expectations::kGlobalPauseFieldNumber},
              {.field = Field::kPause, .applies = ReportsPauseWithoutPfc}},
    .fix = "ethtool -A NETDEV rx on|off tx on|off",
    .equality_rules = kPause,
};

extern const Rule pfc_excludes_global_pause = {
    .id = "pfc_excludes_global_pause",
    .title = "A RoCE port with PFC has global pause off",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Global pause stops the whole port, including CNPs and management. IEEE 802.1Qbb forbids "
        "it together with PFC: which of the two the hardware applies depends on the vendor. The "
        "usual cause is an ethtool setting of the distribution or of an old script.",
    .source = "IEEE 802.1Qbb; Broadcom's RoCE set-up (ethtool -A NETDEV rx off tx off)",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .reads = {{.field = Field::kPause, .applies = ReportsPauseWithPfc}},
    .fix = "ethtool -A NETDEV rx off tx off",
    .evaluate_node = EvaluateWithPfc,
};

extern const Rule pfc_instead_of_global_pause = {
    .id = "pfc_instead_of_global_pause",
    .title = "If the profile requires lossless RoCE, the port uses PFC and not global pause",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Global pause is the factory setting of mlx5. It stops all traffic on the port, so that "
        "one slow receiver holds up everything behind it. It also ends at the first switch that "
        "uses PFC: links run below their rate while no drop counter increases.",
    .source = "NVIDIA RoCE recommendations; IEEE 802.3 annex 31B",
    .needs = {Input::kDcb, Input::kGlobalPause},
    .profile = {v1::Expectations::kLosslessFieldNumber, v1::Expectations::kGlobalPauseFieldNumber},
    .reads = {{.field = Field::kPause,
               .applies = LacksPfcNow,
               .profile = v1::Expectations::kLosslessFieldNumber}},
    .fix = "ethtool -A NETDEV rx off tx off; dcb pfc set dev NETDEV prio-pfc all:off PRIORITY:on",
    .evaluate_node = EvaluateInsteadOfPfc,
};

}  // namespace fabric::rules
