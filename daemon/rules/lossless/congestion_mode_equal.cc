#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> ModeOf(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || !control->has_mode()) return {};
  return Value{.text = control->mode()};
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  if (!DriverOf(*member.port).starts_with("bnxt")) return {};
  return SetCongestion(*member.port, "", "cc_mode", expected.text == "dcqcn-d" ? 0 : 1);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "mode of congestion control",
                                            .group = ByRailAndDriver,
                                            .value = ModeOf,
                                            .show = ShowText,
                                            .source = CongestionSource,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule congestion_mode_equal = {
    .id = "congestion_mode_equal",
    .title = "Like ports of a rail run the same kind of congestion control",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Deterministic and probabilistic DCQCN, or DCQCN and nothing, react to the same mark "
        "differently: ports with the gentler one take bandwidth from the others.",
    .source = "Broadcom bnxt_re configfs (cc/cc_mode); Intel irdma module parameters",
    .needs = {Input::kCongestionControl},
    .fix = "set cc_mode and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
