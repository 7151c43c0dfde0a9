#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;
using v1::Expectations;

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "", "roce_prio", expected.number);
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "priority of RoCE data, as the driver has it,",
     .group = ByRail,
     .value =
         CongestionNumber<&CongestionControl::has_roce_priority, &CongestionControl::roce_priority>,
     .expected = NumberOf<&Expectations::has_data_priority, &Expectations::data_priority>,
     .source = CongestionSource,
     .remedies = Remedies}};

}  // namespace

extern const Rule roce_priority_equal = {
    .id = "roce_priority_equal",
    .title =
        "Where the driver sets the priority of RoCE data (bnxt), it is that of the profile, else "
        "the same on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The driver sends RoCE from the queue of this priority. Where PFC is on for another one, "
        "pauses of the switch do not stop RoCE, and packets drop.",
    .source = "Broadcom bnxt_re configfs (cc/roce_prio)",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .fix = "set roce_prio and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
