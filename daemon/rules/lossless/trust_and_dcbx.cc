// QoS modes of a port: trust in DSCP or PCP, and the owner of DCBX.
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/lossless/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Without a profile pfc_covers_roce_dscp judges the trust of a port with PFC.
std::optional<Value> TrustOf(const Member& member) {
  const PortView& port = *member.port;
  const v1::DcbConfig* const dcb = DcbOf(port);
  if (dcb == nullptr || !dcb->has_trust()) return {};
  if (!port.expected().has_trust() && PfcMask(port) != PriorityMask()) return {};
  return Value{static_cast<std::uint64_t>(dcb->trust())};
}

// pfc_equal_on_rail reports DCB that could not be read at all.
bool IsTrustNeeded(const Member& member) {
  const PortView& port = *member.port;
  return port.expected().has_trust() && DcbOf(port) != nullptr && !DcbOf(port)->has_trust();
}

std::optional<Value> ExpectedTrust(const v1::Expectations& expected) {
  if (!expected.has_trust()) return {};
  return Value{static_cast<std::uint64_t>(expected.trust())};
}

std::string ShowTrustValue(const Value& value) {
  return std::string(Name(static_cast<v1::Trust>(value.number)));
}

std::vector<v1::Remedy> TrustRemedies(const Member& member, const Value& expected) {
  return SetTrust(*member.port, static_cast<v1::Trust>(expected.number));
}

constexpr EqualityRule kTrust[] = {{.what = "trust",
                                    .value = TrustOf,
                                    .expected = ExpectedTrust,
                                    .kept_when_down = true,
                                    .show = ShowTrustValue,
                                    .source = QosSource,
                                    .remedies = TrustRemedies}};

std::optional<Value> IsHost(const Member& member) {
  const v1::DcbConfig* const dcb = DcbOf(*member.port);
  if (dcb == nullptr || !dcb->has_dcbx()) return {};
  return Value{dcb->dcbx().host() ? 1U : 0U};
}

std::optional<Value> ExpectedHost(const v1::Expectations& expected) {
  if (!expected.has_dcbx_host()) return {};
  return Value{expected.dcbx_host() ? 1U : 0U};
}

std::string ShowOwner(const Value& value) {
  return value.number != 0 ? "host" : "firmware";
}

std::vector<v1::Remedy> OwnerRemedies(const Member& member, const Value& expected) {
  return SetDcbxHost(*member.port, expected.number != 0);
}

constexpr EqualityRule kOwner[] = {{.what = "owner of DCBX",
                                    .group = ByRailAndDriver,
                                    .value = IsHost,
                                    .expected = ExpectedHost,
                                    .kept_when_down = true,
                                    .show = ShowOwner,
                                    .source = QosSource,
                                    .remedies = OwnerRemedies}};

}  // namespace

extern const Rule trust_equal_on_rail = {
    .id = "trust_equal_on_rail",
    .title =
        "RoCE ports trust DSCP or PCP as the profile says; without a profile and without PFC, all "
        "ports of a rail trust the same",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "RoCE frames without a VLAN tag carry no PCP. A port that trusts PCP puts them all into "
        "priority 0, and PFC, ETS and ECN of the data priority have no effect. PCP is the factory "
        "setting of mlx5. Where PFC is on and the profile does not name the trust, "
        "pfc_covers_roce_dscp judges.",
    .source = "kernel drivers/net/ethernet/mellanox/mlx5/core/en_dcbnl.c (mlx5e_dcbnl_dscp_app)",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kTrustFieldNumber},
    .reads = {{.field = Field::kTrust,
               .applies = IsTrustNeeded,
               .profile = v1::Expectations::kTrustFieldNumber}},
    .fix = "dcb app replace dev NETDEV dscp-prio DSCP:PRIORITY, or mlnx_qos -i NETDEV --trust dscp",
    .equality_rules = kTrust,
};

extern const Rule dcbx_mode_is_host = {
    .id = "dcbx_mode_is_host",
    .title =
        "The owner of DCBX, host or firmware, is the one that the profile names, else the same on "
        "a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "While a firmware agent owns DCBX it takes PFC and ETS from the switch: settings of the "
        "host are refused, or undone by the next LLDP frame, and lldpd receives no frames. If "
        "settings revert by themselves, this is the reason.",
    .source = "kernel include/uapi/linux/dcbnl.h (DCB_CAP_DCBX_HOST); kernel document ice.rst",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDcbxHostFieldNumber},
    .reads = {{.field = Field::kDcbx,
               .applies = IsRoceInUse,
               .profile = v1::Expectations::kDcbxHostFieldNumber},
              {.field = Field::kDcbx, .applies = IsRoceInUse}},
    .fix = "mlnx_qos -i NETDEV -d os; ethtool --set-priv-flags NETDEV fw-lldp-agent off",
    .equality_rules = kOwner,
};

}  // namespace fabric::rules
