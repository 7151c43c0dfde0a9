#include "daemon/rules/lossless/ecn_points.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

const google::protobuf::RepeatedField<bool>& Switches(const v1::CongestionControl& control) {
  return control.reaction_point_enabled();
}

std::optional<Value> Enabled(const Member& member) {
  return EcnSwitch(*member.port, Switches);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetEcn(*member.port, "roce_rp", expected.number != 0);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "ECN reaction point on the data priority",
                                            .group = ByRailAndDriver,
                                            .value = Enabled,
                                            .expected = ExpectedEcn,
                                            .show = ShowOnOff,
                                            .source = CongestionSource,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule ecn_obeyed_on_data_priority = {
    .id = "ecn_obeyed_on_data_priority",
    .title =
        "A RoCE port slows down for CNPs on the data priority: as the profile says, else alike",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "This port ignores CNPs and keeps sending at full speed into congestion: the others slow "
        "down for it, and lose. Its own throughput looks better than theirs, which hides it.",
    .source = "NVIDIA MLNX_OFED, RoCE congestion control (ecn/roce_rp/enable)",
    .needs = {Input::kCongestionControl, Input::kDcb},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "write 1 to sys/class/net/NETDEV/ecn/roce_rp/enable/PRIORITY",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
