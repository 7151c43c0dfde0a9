#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Without a profile the trust of a port with PFC is pfc_covers_roce_dscp's business.
std::optional<Value> TrustOf(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_trust()) return {};
  if (!port.expected().has_trust() && LosslessMask(port) != 0U) return {};
  return Value{static_cast<std::uint64_t>(dcb->trust())};
}

// DCB that cannot be read at all is reported with PFC.
bool IsNeeded(const Member& member) {
  const PortView& port = *member.port;
  return port.expected().has_trust() && DcbOf(port) != nullptr && !DcbOf(port)->has_trust();
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_trust()) return {};
  return Value{static_cast<std::uint64_t>(expected.trust())};
}

std::string Show(const Value& value) {
  return std::string(Name(static_cast<v1::Trust>(value.number)));
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  const std::string& netdev = WireName(port);
  if (expected.number != v1::TRUST_DSCP)
    return WithMlnxQos(port,
                       {.command = Format("dcb app flush dev {} dscp-prio", netdev),
                        .note = "Without a DSCP entry mlx5 trusts PCP."},
                       "--trust pcp");
  const std::uint32_t dscp = DataDscp(port).value_or(kUsualDataDscp);
  const std::uint32_t priority = DataPriority(port).value_or(dscp / 8);
  return WithMlnxQos(
      port,
      {.command = Format("dcb app replace dev {} dscp-prio {}:{}", netdev, dscp, priority),
       .note = "The first DSCP entry also makes the port trust DSCP."},
      "--trust dscp");
}

std::string Source(const Member& member) {
  return QosSource(member);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "trust",
                                            .value = TrustOf,
                                            .needed = IsNeeded,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule trust_equal_on_rail = {
    .id = "trust_equal_on_rail",
    .title =
        "RoCE ports find the priority of a packet as the profile says, by DSCP or by PCP; "
        "without a profile and without PFC, all ports of a rail alike",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "RoCE frames without a VLAN tag carry no PCP: a port that trusts PCP puts them all into "
        "priority 0, whatever their DSCP, and PFC, ETS and ECN of the data priority do nothing. "
        "PCP is the factory setting of mlx5. Where PFC is on and no profile says what to trust, "
        "pfc_covers_roce_dscp judges.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c (mlx5e_dcbnl_dscp_app)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kTrustFieldNumber},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY, or mlnx_qos -i NETDEV --trust dscp",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
