#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kRx = 1;
constexpr std::uint64_t kTx = 2;

// Beside PFC it is pfc_excludes_global_pause's business, under a lossless profile that of others.
std::optional<Value> PauseBits(const Member& member) {
  const PortView& port = *member.port;
  if (!CarriesRoce(port) || PauseOf(port) == Pause::kUnknown || LacksPfcUnderLossless(port))
    return {};
  if (LosslessMask(port).value_or(0) != 0) return {};
  const v1::GlobalPause& pause = WireOf(port)->global_pause();
  return Value{(pause.rx() ? kRx : 0) | (pause.tx() ? kTx : 0)};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_global_pause()) return {};
  return Value{expected.global_pause() ? kRx | kTx : 0};
}

const char* OnOff(std::uint64_t bits, std::uint64_t bit) {
  return (bits & bit) != 0 ? "on" : "off";
}

std::string Show(const Value& value) {
  return Format("rx {} tx {}", OnOff(value.number, kRx), OnOff(value.number, kTx));
}

std::string Source(const Member& member) {
  return PauseSource(*member.port);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return {ToRemedy({.command = Format("ethtool -A {} {}", WireName(*member.port), Show(expected)),
                    .interrupts_traffic = true,
                    .note = "The switch port has to agree."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "global pause",
                                            .group = ByRailAndDriver,
                                            .value = PauseBits,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule global_pause_equal_on_rail = {
    .id = "global_pause_equal_on_rail",
    .title =
        "RoCE ports without PFC have global pause set as the profile says, else alike on a "
        "rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Where global pause is what keeps RoCE lossless, the one port without it drops; where "
        "RoCE is lossy by design, the one port with it stalls everything behind it. ethtool "
        "settings are lost at reboot unless somebody wrote them down.",
    .source = "IEEE 802.3 annex 31B; ethtool(8), --pause",
    .needs = {Input::kGlobalPause, Input::kDcb},
    .profile = {v1::Expectations::kGlobalPauseFieldNumber},
    .fix = "ethtool -A NETDEV rx on|off tx on|off",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
