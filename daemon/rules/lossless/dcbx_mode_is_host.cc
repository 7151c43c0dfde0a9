#include "base/text.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::optional<Value> IsHost(const Member& member) {
  const v1::DcbConfig* const dcb = DcbOf(*member.port);
  if (dcb == nullptr || !dcb->has_dcbx()) return {};
  return Value{dcb->dcbx().host() ? 1U : 0U};
}

std::optional<Value> Expected(const v1::Expectations& expected) {
  if (!expected.has_dcbx_host()) return {};
  return Value{expected.dcbx_host() ? 1U : 0U};
}

std::string Show(const Value& value) {
  return value.number != 0 ? "host" : "firmware";
}

std::string Source(const Member& member) {
  return QosSource(member);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  const PortView& port = *member.port;
  const std::string& netdev = WireName(port);
  const bool host = expected.number != 0;
  if (DriverOf(port) == "ice")
    return {ToRemedy({.platform = "ice",
                      .command = Format("ethtool --set-priv-flags {} fw-lldp-agent {}", netdev,
                                        host ? "off" : "on"),
                      .interrupts_traffic = true})};
  return WithMlnxQos(
      port,
      {.command = Format("dcb dcbx set dev {} {}", netdev, host ? "host ieee" : "ieee"),
       .note = "Refused where the firmware runs its own LLDP agent."},
      host ? "-d os" : "-d fw");
}

constexpr EqualityRule kEqualityRules[] = {{.what = "owner of DCBX",
                                            .group = ByRailAndDriver,
                                            .value = IsHost,
                                            .expected = Expected,
                                            .show = Show,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule dcbx_mode_is_host = {
    .id = "dcbx_mode_is_host",
    .title =
        "Who decides on PFC and ETS, host or firmware, is as the profile says, else alike on "
        "a rail",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "While a firmware agent owns DCBX it takes PFC and ETS from the switch: what the host sets "
        "is refused, or undone at the next LLDP frame, and lldpd hears no neighbour. Settings "
        "that come back by themselves have this reason.",
    .source = "kernel include/uapi/linux/dcbnl.h (DCB_CAP_DCBX_HOST); kernel document ice.rst",
    .needs = {Input::kDcb},
    .profile = {v1::Expectations::kDcbxHostFieldNumber},
    .fix = "mlnx_qos -i NETDEV -d os; ethtool --set-priv-flags NETDEV fw-lldp-agent off",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
