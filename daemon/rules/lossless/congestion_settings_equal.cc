// Congestion control settings that are equal on comparable ports of a rail, or as the profile says.
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using v1::CongestionControl;
using v1::Expectations;

std::optional<Value> ModeOf(const Member& member) {
  const CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || !control->has_mode()) return {};
  return Value{.text = control->mode()};
}

// Only bnxt has settings of its own for data.
bool SetsDataMarks(const Member& port) {
  return IsRoceInUse(port) && DriverOf(*port.port).starts_with("bnxt");
}

std::vector<v1::Remedy> SetCnpDscp(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/cnp_dscp", "cnp_dscp", expected.number);
}
std::vector<v1::Remedy> SetCnpPriority(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/cnp_802p_prio", "cnp_prio", expected.number);
}
std::vector<v1::Remedy> SetCnpInterval(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "roce_np/min_time_between_cnps", "min_time_bet_cnp",
                       expected.number);
}
std::vector<v1::Remedy> SetRoceDscp(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "", "roce_dscp", expected.number);
}
std::vector<v1::Remedy> SetRocePriority(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "", "roce_prio", expected.number);
}
std::vector<v1::Remedy> SetMode(const Member& member, const Value& expected) {
  return SetCongestion(*member.port, "", "cc_mode", expected.text == "dcqcn-d" ? 0 : 1);
}

constexpr EqualityRule kCnpDscp[] = {
    {.what = "DSCP of CNPs",
     .group = ByRailAndDriver,
     .value = CongestionNumber<&CongestionControl::has_cnp_dscp, &CongestionControl::cnp_dscp>,
     .expected = NumberOf<&Expectations::has_cnp_dscp, &Expectations::cnp_dscp>,
     .kept_when_down = true,
     .source = CongestionSource,
     .remedies = SetCnpDscp}};

constexpr EqualityRule kCnpPriority[] = {
    {.what = "priority of CNPs sent",
     .group = ByRailAndDriver,
     .value =
         CongestionNumber<&CongestionControl::has_cnp_priority, &CongestionControl::cnp_priority>,
     .expected = NumberOf<&Expectations::has_cnp_priority, &Expectations::cnp_priority>,
     .kept_when_down = true,
     .source = CongestionSource,
     .remedies = SetCnpPriority}};

constexpr EqualityRule kCnpInterval[] = {
    {.what = "minimum time between CNPs in microseconds",
     .group = ByRailAndModel,
     .value = CongestionNumber<&CongestionControl::has_min_time_between_cnps_us,
                               &CongestionControl::min_time_between_cnps_us>,
     .kept_when_down = true,
     .source = CongestionSource,
     .remedies = SetCnpInterval}};

constexpr EqualityRule kRoceDscp[] = {
    {.what = "DSCP of RoCE data in the driver",
     .value = CongestionNumber<&CongestionControl::has_roce_dscp, &CongestionControl::roce_dscp>,
     .expected = NumberOf<&Expectations::has_data_dscp, &Expectations::data_dscp>,
     .kept_when_down = true,
     .source = CongestionSource,
     .remedies = SetRoceDscp}};

constexpr EqualityRule kRocePriority[] = {
    {.what = "priority of RoCE data in the driver",
     .value =
         CongestionNumber<&CongestionControl::has_roce_priority, &CongestionControl::roce_priority>,
     .expected = NumberOf<&Expectations::has_data_priority, &Expectations::data_priority>,
     .kept_when_down = true,
     .source = CongestionSource,
     .remedies = SetRocePriority}};

constexpr EqualityRule kMode[] = {{.what = "mode of congestion control",
                                   .group = ByRailAndDriver,
                                   .value = ModeOf,
                                   .kept_when_down = true,
                                   .show = ShowText,
                                   .source = CongestionSource,
                                   .remedies = SetMode}};

}  // namespace

extern const Rule cnp_dscp_equal = {
    .id = "cnp_dscp_equal",
    .title = "RoCE ports send CNPs with the profile's DSCP, else comparable ports use the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Switches put a CNP with another DSCP into another queue: behind the data that it should "
        "slow down, or into a queue without guarantees. Vendor defaults differ (48, and 4 in "
        "NVIDIA's operator), so a mix of configuration tools leads to different values.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/cnp_dscp); kernel drivers/infiniband/hw/mlx5/cong.c; Broadcom "
        "cc/cnp_dscp",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpDscpFieldNumber},
    .reads = {{.field = Field::kCnpDscp,
               .applies = IsRoceHardware,
               .profile = v1::Expectations::kCnpDscpFieldNumber},
              {.field = Field::kCnpDscp, .applies = IsRoceInUse}},
    .fix = "write the DSCP to sys/class/net/NETDEV/ecn/roce_np/cnp_dscp",
    .equality_rules = kCnpDscp,
};

extern const Rule cnp_priority_equal = {
    .id = "cnp_priority_equal",
    .title = "RoCE ports send CNPs with the profile's priority, else comparable ports use the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The priority selects the NIC's own queue, and the PCP of frames with a VLAN tag. In the "
        "queue of the data, CNPs wait in the congestion that they report.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/cnp_802p_prio); kernel drivers/infiniband/hw/mlx5/cong.c; "
        "Broadcom cc/cnp_prio",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpPriorityFieldNumber},
    .reads = {{.field = Field::kCnpPriority,
               .applies = IsRoceHardware,
               .profile = v1::Expectations::kCnpPriorityFieldNumber},
              {.field = Field::kCnpPriority, .applies = IsRoceInUse}},
    .fix = "write the priority to sys/class/net/NETDEV/ecn/roce_np/cnp_802p_prio",
    .equality_rules = kCnpPriority,
};

extern const Rule cnp_interval_equal = {
    .id = "cnp_interval_equal",
    .title = "Comparable ports of a rail use the same minimum CNP interval",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A receiver that sends CNPs less often slows its senders down later than its peers do. "
        "Flows to it occupy more than their share of the queues. Common causes are a leftover of "
        "an experiment and another firmware version.",
    .source =
        "NVIDIA MLNX_OFED (roce_np/min_time_between_cnps); kernel "
        "drivers/infiniband/hw/mlx5/cong.c",
    .needs = {Input::kCongestionControl},
    .reads = {{.field = Field::kCongestionControl, .applies = IsRoceInUse}},
    .fix = "write the microseconds to sys/class/net/NETDEV/ecn/roce_np/min_time_between_cnps",
    .equality_rules = kCnpInterval,
};

extern const Rule roce_dscp_equal = {
    .id = "roce_dscp_equal",
    .title =
        "Where the driver sets the DSCP of RoCE data (bnxt), it is the profile's, else the same "
        "on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "bnxt marks RoCE packets with its own DSCP. When it is not the one that the fabric "
        "expects, every switch on the path puts the packets into a lossy queue.",
    .source = "Broadcom bnxt_re configfs (cc/roce_dscp)",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kDataMarks,
               .applies = SetsDataMarks,
               .profile = v1::Expectations::kDataDscpFieldNumber},
              {.field = Field::kDataMarks, .applies = SetsDataMarks}},
    .fix = "set roce_dscp and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kRoceDscp,
};

extern const Rule roce_priority_equal = {
    .id = "roce_priority_equal",
    .title =
        "Where the driver sets the priority of RoCE data (bnxt), it is the profile's, else the "
        "same on a rail",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "The driver sends RoCE from the queue of this priority. When PFC is on for another "
        "priority, pause frames of the switch do not stop RoCE, and packets are dropped.",
    .source = "Broadcom bnxt_re configfs (cc/roce_prio)",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kDataMarks,
               .applies = SetsDataMarks,
               .profile = v1::Expectations::kDataPriorityFieldNumber},
              {.field = Field::kDataMarks, .applies = SetsDataMarks}},
    .fix = "set roce_prio and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kRocePriority,
};

extern const Rule congestion_mode_equal = {
    .id = "congestion_mode_equal",
    .title = "Comparable ports of a rail use the same congestion control mode",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Deterministic DCQCN, probabilistic DCQCN and no DCQCN react differently to the same "
        "mark. Ports with the weaker reaction take bandwidth from the others.",
    .source = "Broadcom bnxt_re configfs (cc/cc_mode); Intel irdma module parameters",
    .needs = {Input::kCongestionControl},
    .reads = {{.field = Field::kCongestionControl, .applies = IsRoceInUse}},
    .fix = "set cc_mode and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kMode,
};

}  // namespace fabric::rules
