#include "daemon/rules/lossless/ecn_points.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

const google::protobuf::RepeatedField<bool>& Switches(const v1::CongestionControl& control) {
  return control.notification_point_enabled();
}

std::optional<Value> Enabled(const Member& member) {
  return EcnSwitch(*member.port, Switches);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return SetEcn(*member.port, "roce_np", expected.number != 0);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "ECN notification point on the data priority",
                                            .group = ByRailAndDriver,
                                            .value = Enabled,
                                            .expected = ExpectedEcn,
                                            .show = ShowOnOff,
                                            .source = CongestionSource,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule ecn_notified_on_data_priority = {
    .id = "ecn_notified_on_data_priority",
    .title =
        "A RoCE port answers ECN marks on the data priority with CNPs: as the profile says, else "
        "alike",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Switches mark packets, this port receives the marks and tells nobody: the senders go on "
        "at full speed until PFC stops them, or packets drop. Only traffic towards this port "
        "suffers.",
    .source = "NVIDIA MLNX_OFED, RoCE congestion control (ecn/roce_np/enable)",
    .needs = {Input::kCongestionControl, Input::kDcb},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .fix = "write 1 to sys/class/net/NETDEV/ecn/roce_np/enable/PRIORITY",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
