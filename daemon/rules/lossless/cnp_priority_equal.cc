#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;
using v1::Expectations;

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/cnp_802p_prio", "cnp_prio", expected.number);
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "priority of CNPs sent",
     .group = ByRailAndDriver,
     .value =
         CongestionNumber<&CongestionControl::has_cnp_priority, &CongestionControl::cnp_priority>,
     .expected = NumberOf<&Expectations::has_cnp_priority, &Expectations::cnp_priority>,
     .source = CongestionSource,
     .remedies = Remedies}};

}  // namespace

extern const Rule cnp_priority_equal = {
    .id = "cnp_priority_equal",
    .title =
        "RoCE ports send their CNPs with the priority of the profile, else all like ports of a "
        "rail with the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The priority decides the NIC's own queue, and the PCP where frames carry a VLAN tag. In "
        "the queue of the data, CNPs wait for the very congestion that they report.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/cnp_802p_prio); kernel drivers/infiniband/hw/mlx5/cong.c; "
        "Broadcom cc/cnp_prio",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpPriorityFieldNumber},
    .fix = "write the priority to sys/class/net/NETDEV/ecn/roce_np/cnp_802p_prio",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
