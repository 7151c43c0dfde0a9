#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// It matters where there is PFC.
std::optional<Value> IsOn(const Member& member) {
  const PortView& port = *member.port;
  if (LosslessMask(port).value_or(0) == 0) return {};
  const v1::NetInterface* const wire = WireOf(port);
  if (wire == nullptr || !wire->has_pfc_storm_prevention_ms()) return {};
  return Value{wire->pfc_storm_prevention_ms() != 0 ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_pfc_storm_prevention()) return {};
  return Value{expected.pfc_storm_prevention() ? 1U : 0U};
}

std::string Source(const Member& member) {
  return "ethtool pfc-prevention-tout " + WireName(*member.port);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const std::string& netdev = WireName(*member.port);
  if (expected.number == 0)
    return {
        ToRemedy({.command = Format("ethtool --set-tunable {} pfc-prevention-tout 0", netdev)})};
  return {ToRemedy({.platform = "mlx5",
                    .command = Format("ethtool --set-tunable {} pfc-prevention-tout 65535", netdev),
                    .note = "65535: automatic, 100 ms."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "PFC storm prevention",
                                            .group = ByRailAndDriver,
                                            .value = IsOn,
                                            .expected = Expected,
                                            .show = ShowOnOff,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule pfc_storm_prevention_on = {
    .id = "pfc_storm_prevention_on",
    .title = "PFC storm prevention of the NIC is set as the profile says, else alike on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A host that hangs with PFC on sends pause frames for as long as it hangs, and the "
        "switches hand them on until the whole fabric stands. With prevention on, the NIC gives "
        "up after a time and drops instead: only this host is lost. Somebody turned it off.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_ethtool.c (pfc-prevention-tout)",
    .needs = {Input::kPfcStormPrevention, Input::kDcb},
    .profile = {v1::Expectations::kPfcStormPreventionFieldNumber},
    .fix = "ethtool --set-tunable NETDEV pfc-prevention-tout 65535",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
