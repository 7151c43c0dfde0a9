#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// What another rule of links says of a port is not said again.
std::optional<Value> Rate(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (port.expected().has_rate_bps() || IsSingleLane(port) || IsFarBelowMaximum(port)) return {};
  const auto rate = LinkRate(port);
  return rate ? std::optional(Value{*rate}) : std::nullopt;
}

std::string Source(const Member& member) {
  return RateSource(*member.port);
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  return RateRemedies(*member.port);
}

constexpr EqualityRule kEqualityRules[] = {{.what = "link rate",
                                            .group = ByRailAndModel,
                                            .value = Rate,
                                            .show = ShowRate,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule link_speed_equal_on_rail = {
    .id = "link_speed_equal_on_rail",
    .title = "Ports of one model on a rail have links of the same rate",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A cable or module of a lower class, or a switch port that was split, gives a slower link "
        "without any error; the slowest link of a collective sets the speed of all of it. The "
        "rate of most ports of the model on the rail is expected, where no profile says one.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .fix = "Cable, module, switch port; ethtool NETDEV, or ibportstate LID PORT query",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
