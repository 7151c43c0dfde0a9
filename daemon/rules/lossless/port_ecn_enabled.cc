#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Drivers with one switch for the port: bnxt, irdma.
std::optional<Value> Enabled(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  const v1::Expectations& expected = member.port->expected();
  if (control == nullptr || !control->has_ecn_enabled()) return {};
  if (expected.has_ecn() && !expected.ecn()) return {};
  return Value{control->ecn_enabled() ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.ecn()) return {};
  return Value{1};
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  const std::string path = CongestionSource(member);
  if (DriverOf(port).starts_with("bnxt"))
    return {ToRemedy({.platform = "bnxt",
                      .command = Format("cd / && echo {0} > {1}/ecn_enable && echo 1 > {1}/apply",
                                        expected.number, path)})};
  return {ToRemedy(
      {.platform = "irdma",
       .command = Format("modprobe -r irdma && modprobe irdma dcqcn_enable={}", expected.number),
       .interrupts_traffic = true,
       .note = "Of the out-of-tree driver, for all its ports."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "ECN of RoCE",
                                            .group = ByRailAndDriver,
                                            .value = Enabled,
                                            .expected = Expected,
                                            .show = ShowOnOff,
                                            .source = CongestionSource,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule port_ecn_enabled = {
    .id = "port_ecn_enabled",
    .title =
        "Where ECN of RoCE is one switch for the port (bnxt, irdma), it is on as the profile "
        "says, else alike",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without it the port neither answers ECN marks nor slows down for others: congestion ends "
        "in PFC storms or in drops. A set-up script that failed half-way leaves it off.",
    .source = "Broadcom bnxt_re configfs (cc/ecn_enable); Intel irdma module parameters",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .fix = "set ecn_enable to 1 and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
