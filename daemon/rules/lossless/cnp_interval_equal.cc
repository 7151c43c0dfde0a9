#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/min_time_between_cnps", "min_time_bet_cnp",
                       expected.number);
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "shortest time between CNPs in microseconds",
     .group = ByRailAndModel,
     .value = CongestionNumber<&CongestionControl::has_min_time_between_cnps_us,
                               &CongestionControl::min_time_between_cnps_us>,
     .source = CongestionSource,
     .remedies = Remedies}};

}  // namespace

extern const Rule cnp_interval_equal = {
    .id = "cnp_interval_equal",
    .title = "Like ports of a rail have the same shortest time between CNPs",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A receiver that sends CNPs less often slows its senders down later than its equals do: "
        "flows towards it hold more than their share of the queues. It is left from an experiment, "
        "or comes with another firmware.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/min_time_between_cnps); kernel "
        "drivers/infiniband/hw/mlx5/cong.c",
    .needs = {Input::kCongestionControl},
    .fix = "write the microseconds to sys/class/net/NETDEV/ecn/roce_np/min_time_between_cnps",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
