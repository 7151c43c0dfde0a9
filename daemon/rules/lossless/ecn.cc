// ECN settings of RoCE (notification point, reaction point, port): those of the profile, or equal
// on a rail.
#include <algorithm>
#include <functional>

#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool EcnOffInProfile(const PortView& port) {
  return port.expected().has_ecn() && !port.expected().ecn();
}

// The state of one end on the data priority. Nothing where the driver does not report it, where the
// data priority is not known, and under a profile without ECN, where it does no harm.
std::optional<Value> OnDataPriority(const PortView& port,
                                    const google::protobuf::RepeatedField<bool>& enabled) {
  auto priority = DataPriority(port);
  // Any priority when all have the same state. roce_mode_defined judges where PFC is off.
  const bool all_equal =
      std::adjacent_find(enabled.begin(), enabled.end(), std::not_equal_to<>()) == enabled.end();
  if (!priority && all_equal && !PfcMask(port)) priority = 0;
  if (!priority || *priority >= static_cast<std::uint32_t>(enabled.size())) return {};
  return Value{enabled.Get(static_cast<int>(*priority)) ? 1U : 0U};
}

std::optional<Value> Notifies(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || EcnOffInProfile(*member.port)) return {};
  return OnDataPriority(*member.port, control->notification_point_enabled());
}

bool IsOff(const std::optional<Value>& state) {
  return state && state->number == 0;
}

// ECN that is off at both points is a finding of ecn_notified_on_data_priority.
std::optional<Value> Reacts(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || EcnOffInProfile(*member.port)) return {};
  const auto state = OnDataPriority(*member.port, control->reaction_point_enabled());
  return IsOff(state) && IsOff(Notifies(member)) ? std::nullopt : state;
}

std::optional<Value> PortEnabled(const Member& member) {
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (control == nullptr || !control->has_ecn_enabled() || EcnOffInProfile(*member.port)) return {};
  return Value{control->ecn_enabled() ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.ecn()) return {};
  return Value{1};
}

// bnxt and irdma have one setting for the port.
bool HasEcnByPort(const Member& member) {
  const std::string_view driver = DriverOf(*member.port);
  return IsRoceHardware(member) && !EcnOffInProfile(*member.port) &&
         (driver.starts_with("bnxt") || driver == "ice" || driver == "irdma");
}

bool HasEcnByPriority(const Member& member) {
  return IsRoceHardware(member) && !EcnOffInProfile(*member.port) && !HasEcnByPort(member);
}

std::vector<v1::Remedy> SetNotifies(const Member& member, const Value& expected) {
  std::vector<v1::Remedy> remedies = SetEcn(*member.port, "roce_np", expected.number != 0);
  const v1::CongestionControl* const control = CongestionOf(*member.port);
  if (expected.number != 0 && control != nullptr &&
      IsOff(OnDataPriority(*member.port, control->reaction_point_enabled())))
    for (v1::Remedy& remedy : SetEcn(*member.port, "roce_rp", true))
      remedies.push_back(std::move(remedy));
  return remedies;
}
std::vector<v1::Remedy> SetReacts(const Member& member, const Value& expected) {
  return SetEcn(*member.port, "roce_rp", expected.number != 0);
}
std::vector<v1::Remedy> SetPort(const Member& member, const Value& expected) {
  return SetPortEcn(*member.port, expected.number != 0);
}

constexpr EqualityRule kNotifies[] = {{.what = "ECN notification point on the data priority",
                                       .group = ByRailAndDriver,
                                       .value = Notifies,
                                       .expected = Expected,
                                       .kept_when_down = true,
                                       .show = ShowOnOff,
                                       .source = CongestionSource,
                                       .remedies = SetNotifies}};

constexpr EqualityRule kReacts[] = {{.what = "ECN reaction point on the data priority",
                                     .group = ByRailAndDriver,
                                     .value = Reacts,
                                     .expected = Expected,
                                     .kept_when_down = true,
                                     .show = ShowOnOff,
                                     .source = CongestionSource,
                                     .remedies = SetReacts}};

constexpr EqualityRule kPort[] = {{.what = "ECN of RoCE",
                                   .group = ByRailAndDriver,
                                   .value = PortEnabled,
                                   .expected = Expected,
                                   .kept_when_down = true,
                                   .show = ShowOnOff,
                                   .source = CongestionSource,
                                   .remedies = SetPort}};

}  // namespace

extern const Rule ecn_notified_on_data_priority = {
    .id = "ecn_notified_on_data_priority",
    .title =
        "RoCE ports answer ECN marks on the data priority with CNPs as the profile states; without "
        "a profile, all ports of a rail do the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Switches mark packets, but this port does not notify the senders. They continue at full "
        "speed until PFC stops them or packets are dropped. Only traffic to this port suffers.",
    .source = "NVIDIA MLNX_OFED, RoCE congestion control (ecn/roce_np/enable)",
    .needs = {Input::kCongestionControl, Input::kDcb},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kEcn,
               .applies = HasEcnByPriority,
               .profile = v1::Expectations::kEcnFieldNumber},
              {.field = Field::kEcn, .applies = HasEcnByPriority}},
    .fix = "write 1 to sys/class/net/NETDEV/ecn/roce_np/enable/PRIORITY",
    .equality_rules = kNotifies,
};

extern const Rule ecn_obeyed_on_data_priority = {
    .id = "ecn_obeyed_on_data_priority",
    .title =
        "RoCE ports slow down for CNPs on the data priority as the profile states; without a "
        "profile, all ports of a rail do the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "This port ignores CNPs and sends at full speed into congestion, so the other ports slow "
        "down for it. Its own throughput looks better than theirs, which hides the fault.",
    .source = "NVIDIA MLNX_OFED, RoCE congestion control (ecn/roce_rp/enable)",
    .needs = {Input::kCongestionControl, Input::kDcb},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kDataPriorityFieldNumber},
    .reads = {{.field = Field::kEcn,
               .applies = HasEcnByPriority,
               .profile = v1::Expectations::kEcnFieldNumber},
              {.field = Field::kEcn, .applies = HasEcnByPriority}},
    .fix = "write 1 to sys/class/net/NETDEV/ecn/roce_rp/enable/PRIORITY",
    .equality_rules = kReacts,
};

extern const Rule port_ecn_enabled = {
    .id = "port_ecn_enabled",
    .title =
        "RoCE ports with one ECN setting per port (bnxt, irdma) have the setting of the profile; "
        "without a profile, all ports of a rail have the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without ECN the port neither answers ECN marks nor slows down for others: congestion "
        "ends in PFC storms or drops. A configuration script that failed half-way leaves it off.",
    .source = "Broadcom bnxt_re configfs (cc/ecn_enable); Intel irdma module parameters",
    .needs = {Input::kCongestionControl},
    .profile = {v1::Expectations::kEcnFieldNumber},
    .reads = {{.field = Field::kEcn,
               .applies = HasEcnByPort,
               .profile = v1::Expectations::kEcnFieldNumber},
              {.field = Field::kEcn, .applies = HasEcnByPort}},
    .fix = "set ecn_enable to 1 and apply, below sys/kernel/config/bnxt_re/DEVICE/ports/PORT/cc",
    .equality_rules = kPort,
};

}  // namespace fabric::rules
