// Queue of congestion notification packets (CNPs): apart from RoCE data, strict, equal on a rail.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint32_t kUsualCnpPriority = 6;

std::optional<std::uint32_t> CnpDscp(const PortView& port) {
  if (port.expected().has_cnp_dscp()) return port.expected().cnp_dscp();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_cnp_dscp()) return control->cnp_dscp();
  return {};
}

std::optional<std::uint32_t> CnpPriority(const PortView& port) {
  if (port.expected().has_cnp_priority()) return port.expected().cnp_priority();
  const v1::CongestionControl* const control = CongestionOf(port);
  if (control != nullptr && control->has_cnp_priority()) return control->cnp_priority();
  return {};
}

// The priority that the driver gives to CNPs, else the usual one, if it has no PFC.
std::vector<v1::Remedy> CnpPriorityRemedies(const PortView& port, std::uint32_t dscp) {
  const PriorityMask mask = PfcMask(port).value_or(PriorityMask());
  for (const std::uint32_t priority :
       {CnpPriority(port).value_or(kUsualCnpPriority), kUsualCnpPriority})
    if (!mask.Has(priority))
      return SetDscpPriority(port, dscp, priority,
                             "Most switches use 6 for CNPs. Use the priority that yours have.");
  return {
      Advice(Format("Map DSCP {} to a priority without PFC, the one that the switches use for "
                    "CNPs.",
                    dscp))};
}

// cnp_dscp_priority compares with the priority of a profile. pfc_covers_roce_dscp reports data
// without PFC.
void JudgeApart(const PortView& port, Verdicts& out) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto cnp_dscp = CnpDscp(port);
  const std::uint32_t data_dscp = DataDscp(port).value_or(kUsualDataDscp);
  if (dcb == nullptr || !cnp_dscp || *cnp_dscp == data_dscp) return;
  const auto data = PriorityOfDscp(*dcb, data_dscp);
  const auto cnp = PriorityOfDscp(*dcb, *cnp_dscp);
  if (!data || !cnp || !PfcMask(port)->Has(*data)) return;
  if (*data != *cnp) return out.Pass();
  FailOn(port,
         {.what = Format("priority of CNPs (DSCP {})", *cnp_dscp),
          .expected = "one without PFC",
          .seen = Format("{}, that of RoCE data", *cnp),
          .source = QosSource(port),
          .basis = Format("DSCP {} has the same priority", data_dscp)},
         CnpPriorityRemedies(port, *cnp_dscp), out);
}

void EvaluateCnpApart(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (!port.expected().has_cnp_priority() && HasPfc(port)) JudgeApart(port, out);
  });
}

// Does not judge vendor algorithms: that of mlx5 comes before ETS.
void JudgeStrict(const PortView& port, Verdicts& out) {
  const v1::DcbConfig* const dcb = DcbOf(port);
  const auto priority = CnpPriority(port);
  if (dcb == nullptr || !priority) return;
  if (!dcb->has_ets()) return;
  const auto traffic_class = ClassOf(dcb->ets(), *priority);
  const int index = static_cast<int>(traffic_class.value_or(~0U));
  if (index < 0 || index >= dcb->ets().tc_algorithm_size()) return;
  const std::uint32_t algorithm = dcb->ets().tc_algorithm(index);
  if (algorithm != kTsaEts && algorithm != kTsaCbs) return out.Pass();
  FailOn(port,
         {.what = Format("class {} of CNPs (priority {})", *traffic_class, *priority),
          .expected = "strict priority",
          .seen = algorithm == kTsaEts ? "ETS" : "CBS",
          .source = QosSource(port),
          .basis = ProfileBasis(*port.expectation)},
         SetEtsStrict(port, *priority), out);
}

void EvaluateStrict(const fleet::NodeView& node, Verdicts& out) {
  ForRocePorts(node, [&](const PortView& port) {
    if (port.expected().cnp_strict()) JudgeStrict(port, out);
  });
}

std::uint32_t ExpectedCnpDscp(const PortView& port) {
  return port.expected().has_cnp_dscp() ? port.expected().cnp_dscp() : kUsualCnpDscp;
}

// Without a profile only where the driver does not name another DSCP than the usual one.
// cnp_apart_from_data reports CNPs in the priority of the data.
std::optional<Value> PriorityOfCnps(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr) return {};
  const auto priority = PriorityOfDscp(*dcb, ExpectedCnpDscp(port));
  if (!priority) return {};
  if (port.expected().has_cnp_priority()) return Value{*priority};
  const v1::CongestionControl* const control = CongestionOf(port);
  if (!port.expected().has_cnp_dscp() && control != nullptr && control->has_cnp_dscp() &&
      control->cnp_dscp() != kUsualCnpDscp)
    return {};
  if (PfcMask(port).value_or(PriorityMask()).Has(*priority)) return {};
  return Value{*priority};
}

std::vector<v1::Remedy> SetCnpDscpPriority(const Member& member, const Value& expected) {
  return SetDscpPriority(*member.port, ExpectedCnpDscp(*member.port),
                         static_cast<std::uint32_t>(expected.number));
}

constexpr EqualityRule kCnpPriorities[] = {
    {.what = "priority of the DSCP of CNPs",
     .value = PriorityOfCnps,
     .expected = NumberOf<&v1::Expectations::has_cnp_priority, &v1::Expectations::cnp_priority>,
     .kept_when_down = true,
     .source = QosSource,
     .remedies = SetCnpDscpPriority}};

}  // namespace

extern const Rule cnp_apart_from_data = {
    .id = "cnp_apart_from_data",
    .title = "CNPs do not use the lossless priority of RoCE data",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A CNP asks a sender to slow down. In the priority of the data it waits behind the data "
        "and is paused with it. The notification then arrives late exactly when there is "
        "congestion, and PFC does the work of ECN.",
    .source =
        "NVIDIA Cumulus and Onyx, Broadcom and Juniper RoCE set-ups (CNP in a strict class "
        "without PFC)",
    .needs = {Input::kDcb, Input::kCongestionControl},
    .profile = {v1::Expectations::kCnpDscpFieldNumber, v1::Expectations::kDataDscpFieldNumber},
    .reads = {{.field = Field::kDscpMap, .applies = HasPfcOn}},
    .fix = "dcb app replace dev NETDEV dscp-prio 48:6",
    .evaluate_node = EvaluateCnpApart,
};

extern const Rule cnp_class_is_strict = {
    .id = "cnp_class_is_strict",
    .title = "If the profile requires it, the traffic class of CNPs has strict priority",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "CNPs are few and small, and useless when late. In an ETS class they wait for the share "
        "of other classes while the queue that they report keeps growing.",
    .source = "NVIDIA Cumulus and Onyx RoCE defaults (priority 6 strict); Broadcom RoCE set-up",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCnpStrictFieldNumber, v1::Expectations::kCnpPriorityFieldNumber},
    .reads = {{.field = Field::kEts,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kCnpStrictFieldNumber}},
    .fix =
        "dcb ets set dev NETDEV prio-tc PRIORITY:CLASS tc-tsa CLASS:strict, with a class of its "
        "own",
    .evaluate_node = EvaluateStrict,
};

extern const Rule cnp_dscp_priority = {
    .id = "cnp_dscp_priority",
    .title = "The DSCP of CNPs maps to the profile's priority, else to the same on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "CNPs that arrive in another priority than the fabric reserves for them wait behind other "
        "traffic, in the NIC and in its receive buffer. Without a value from the profile or the "
        "driver, their DSCP is assumed to be 48.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); NVIDIA and Broadcom RoCE set-ups (48 to 6)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCnpDscpFieldNumber, v1::Expectations::kCnpPriorityFieldNumber},
    .reads = {{.field = Field::kDscpMap,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kCnpPriorityFieldNumber},
              {.field = Field::kDscpMap, .applies = IsRoceInUse}},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .equality_rules = kCnpPriorities,
};

}  // namespace fabric::rules
