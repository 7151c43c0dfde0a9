#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;
using v1::Expectations;

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/cnp_dscp", "cnp_dscp", expected.number);
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "DSCP of CNPs",
     .group = ByRailAndDriver,
     .value = CongestionNumber<&CongestionControl::has_cnp_dscp, &CongestionControl::cnp_dscp>,
     .expected = NumberOf<&Expectations::has_cnp_dscp, &Expectations::cnp_dscp>,
     .source = CongestionSource,
     .remedies = Remedies}};

}  // namespace

extern const Rule cnp_dscp_equal = {
    .id = "cnp_dscp_equal",
    .title =
        "RoCE ports send their CNPs with the DSCP of the profile, else all like ports of a rail "
        "with the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A CNP with another DSCP waits in another queue of every switch, behind the data that it "
        "should slow down, or in one that nobody watches. Vendors' defaults differ (48, and 4 of "
        "NVIDIA's operator), so that mixed set-ups disagree by themselves.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/cnp_dscp); kernel drivers/infiniband/hw/mlx5/cong.c; Broadcom "
        "cc/cnp_dscp",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpDscpFieldNumber},
    .fix = "write the DSCP to sys/class/net/NETDEV/ecn/roce_np/cnp_dscp",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
