#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/numbers.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::uint32_t CnpDscp(const PortView& port) {
  return port.expected().has_cnp_dscp() ? port.expected().cnp_dscp() : kUsualCnpDscp;
}

// Without a profile only where nothing says that CNPs have another DSCP than the usual one. In the
// priority of the data they are cnp_apart_from_data's.
std::optional<Value> PriorityOfCnps(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr) return {};
  const auto priority = PriorityOfDscp(*dcb, CnpDscp(port));
  if (!priority) return {};
  if (port.expected().has_cnp_priority()) return Value{*priority};
  const v1::CongestionControl* const control = CongestionOf(port);
  if (!port.expected().has_cnp_dscp() && control != nullptr && control->has_cnp_dscp() &&
      control->cnp_dscp() != kUsualCnpDscp)
    return {};
  if (Has(LosslessMask(port).value_or(0), *priority)) return {};
  return Value{*priority};
}

std::string Source(const Member& member) {
  return QosSource(member);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  return WithMlnxQos(port,
                     {.command = Format("dcb app replace dev {} dscp-prio {}:{}", WireName(port),
                                        CnpDscp(port), expected.number)},
                     Format("--dscp2prio set,{},{}", CnpDscp(port), expected.number));
}

constexpr EqualityRule kEqualityRules[] = {
    {.what = "priority of the DSCP of CNPs",
     .value = PriorityOfCnps,
     .expected = NumberOf<&v1::Expectations::has_cnp_priority, &v1::Expectations::cnp_priority>,
     .source = Source,
     .remedies = Remedies}};

}  // namespace

extern const Rule cnp_dscp_priority = {
    .id = "cnp_dscp_priority",
    .title = "The DSCP of CNPs goes to the priority of the profile, else to the same on a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "CNPs that arrive in another priority than the fabric keeps for them wait behind other "
        "traffic, in the NIC and in its receive buffer. Their DSCP is taken to be 48 where "
        "neither profile nor driver tells.",
    .source = "IEEE 802.1Qaz (APP table, selector 5); NVIDIA and Broadcom RoCE set-ups (48 to 6)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kCnpDscpFieldNumber, v1::Expectations::kCnpPriorityFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
