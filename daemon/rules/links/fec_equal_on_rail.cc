#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// A link that is far too slow has another FEC for that reason.
std::optional<Value> Fec(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (IsInfiniband(port) || !LinkRate(port) || IsFarBelowMaximum(port)) return {};
  if (port.netdev->fec().empty()) return {};
  return Value{.text = port.netdev->fec()};
}

std::string Source(const Member& member) {
  return Format("netlink ethtool {}", member.port->port->netdev());
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value& expected) {
  return {ToRemedy({.command = Format("ethtool --set-fec {} encoding {}",
                                      member.port->port->netdev(), expected.text),
                    .interrupts_traffic = true,
                    .note = "The same on the switch port. A cable of another kind may be why the "
                            "driver chose another mode."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "FEC",
                                            .group = ByRailAndModel,
                                            .value = Fec,
                                            .show = ShowText,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule fec_equal_on_rail = {
    .id = "fec_equal_on_rail",
    .title = "Ports of one model on a rail use the same forward error correction",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that runs without the error correction that its equals use loses frames on a cable "
        "that is fine for them; and a mode that only one end was told keeps the link from coming "
        "up after the next flap.",
    .source = "IEEE 802.3 clauses 74 and 91; man page ethtool(8)",
    .needs = {Input::kNetInterfaces},
    .fix = "ethtool --set-fec NETDEV encoding MODE",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
