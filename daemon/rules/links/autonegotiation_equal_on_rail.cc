#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

std::optional<Value> Autonegotiation(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (IsInfiniband(port) || !LinkRate(port) || IsFarBelowMaximum(port)) return {};
  if (!port.netdev->has_autonegotiation()) return {};
  return Value{port.netdev->autonegotiation() ? 1U : 0U};
}

std::string Source(const Member& member) {
  return Format("netlink ethtool {}", member.port->port->netdev());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return {ToRemedy({.command = Format("ethtool -s {} autoneg {}", member.port->port->netdev(),
                                      expected.number != 0 ? "on" : "off"),
                    .interrupts_traffic = true,
                    .note = "The same on the switch port."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "autonegotiation",
                                            .group = ByRailAndModel,
                                            .value = Autonegotiation,
                                            .show = ShowOnOff,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule autonegotiation_equal_on_rail = {
    .id = "autonegotiation_equal_on_rail",
    .title = "Ports of one model on a rail agree on autonegotiation",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port whose speed somebody fixed works until the cable or the switch port changes; then "
        "it comes up slower, or not at all. Cables of different kinds may differ rightly.",
    .source = "IEEE 802.3 clause 73; man page ethtool(8)",
    .needs = {Input::kNetInterfaces},
    .fix = "ethtool -s NETDEV autoneg on",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
