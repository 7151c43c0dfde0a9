#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;
using v1::Expectations;

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "", "roce_dscp", expected.number);
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "DSCP of RoCE data, as the driver has it,",
     .group = ByRail,
     .value = CongestionNumber<&CongestionControl::has_roce_dscp, &CongestionControl::roce_dscp>,
     .expected = NumberOf<&Expectations::has_data_dscp, &Expectations::data_dscp>,
     .source = CongestionSource,
     .remedies = Remedies}};

}  // namespace

extern const Rule roce_dscp_equal = {
    .id = "roce_dscp_equal",
    .title =
        "Where the driver sets the DSCP of RoCE data (bnxt), it is that of the profile, else the "
        "same on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "bnxt marks RoCE packets with a DSCP of its own. Another one than the fabric expects puts "
        "them into a lossy queue of every switch on the way.",
    .source = "Broadcom bnxt_re configfs (cc/roce_dscp)",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kDataDscpFieldNumber},
    .fix = "set roce_dscp and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
