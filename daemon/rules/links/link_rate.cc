#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/siblings.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// link_speed_equal_on_rail and link_speed_equal_in_node

// Absent where another rule reports the rate of the port.
std::optional<std::uint64_t> ComparedRate(const PortView& port) {
  if (port.expected().has_rate_bps() || IsSingleLane(port) || IsFarBelowMaximum(port)) return {};
  return LinkRate(port);
}

constexpr EqualityRule kRateOnRail[] = {
    {.what = "link rate",
     .group = ByRailAndModel,
     .value = [](const Member& member) -> std::optional<Value> {
       const auto rate = ComparedRate(*member.port);
       return rate ? std::optional(Value{*rate}) : std::nullopt;
     },
     .show = ShowRate,
     .source = [](const Member& member) { return RateSource(*member.port); },
     .remedies = [](const Member& member, const Value&) { return RateRemedies(*member.port); }}};

constexpr Sibling kRateInNode = {
    .what = "link rate",
    .value = ComparedRate,
    .show = ShowRate,
    .source = RateSource,
    .remedies = [](const PortView& port, std::uint64_t) { return RateRemedies(port); }};

// link_rate_expected

void FailProfile(const PortView& port, std::string_view what, const std::string& seen,
                 const std::string& wanted, Verdicts& out) {
  const std::string basis = ProfileBasis(*port.expectation);
  out.Fail(port.Subject(), Format("{} {}, expected at least {} ({})", what, seen, wanted, basis),
           {ToEvidence(*port.node, {.what = std::string(what),
                                    .expected = "at least " + wanted,
                                    .seen = seen,
                                    .source = RateSource(port),
                                    .basis = basis})},
           RateRemedies(port));
}

void JudgeProfile(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const v1::Expectations& expected = port.expected();
    if (!port.rail || !IsUp(port) || (!expected.has_rate_bps() && !expected.has_width())) continue;
    const auto rate = LinkRate(port);
    if (rate && expected.has_rate_bps() && *rate < expected.rate_bps())
      FailProfile(port, "link rate", ShowRate({.number = *rate}),
                  ShowRate({.number = expected.rate_bps()}), out);
    else if (expected.has_width() && port.port->has_width() && IsInfiniband(port) &&
             port.port->width() < expected.width())
      FailProfile(port, "lanes", Format("{}", port.port->width()), Format("{}", expected.width()),
                  out);
    else if (rate)
      out.Pass();
  }
}

// link_speed_near_maximum

bool IsEthernetHardware(const Member& port) {
  return IsHardwareLink(port) && !IsInfiniband(*port.port);
}

void JudgeMaximum(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const auto rate = LinkRate(port);
    if (IsInfiniband(port) || port.expected().has_rate_bps() || !rate) continue;
    if (port.netdev == nullptr || !port.netdev->has_speed_max_bps()) continue;
    if (!IsFarBelowMaximum(port)) {
      out.Pass();
      continue;
    }
    const std::string seen = ShowRate({.number = *rate});
    const std::string maximum = ShowRate({.number = port.netdev->speed_max_bps()});
    out.Fail(port.Subject(),
             Format("link rate {}, expected near the maximum of the port, {}", seen, maximum),
             {ToEvidence(*port.node, {.what = "link rate",
                                      .expected = maximum,
                                      .seen = seen,
                                      .source = RateSource(port),
                                      .basis = "fastest mode that port and module support"})},
             RateRemedies(port));
  }
}

}  // namespace

extern const Rule link_rate_expected = {
    .id = "link_rate_expected",
    .title = "Every link runs at least at the rate in the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A link that trained at a lower speed or with fewer lanes is up and shows no error. The "
        "slowest link limits the speed of a collective.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kRateBpsFieldNumber, v1::Expectations::kWidthFieldNumber},
    .reads = {{.field = Field::kLinkRate,
               .applies = IsHardwareLink,
               .profile = v1::Expectations::kRateBpsFieldNumber},
              {.field = Field::kWidth,
               .applies = IsInfinibandInUse,
               .profile = v1::Expectations::kWidthFieldNumber}},
    .fix =
        "Cable, module, switch port; ethtool NETDEV, or smpquery -C DEVICE -P PORT -D portinfo 0 "
        "PORT",
    .evaluate_node = JudgeProfile,
};

extern const Rule link_speed_equal_in_node = {
    .id = "link_speed_equal_in_node",
    .title = "In a node judged alone, equal cards have links of the same rate",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The equal cards of a GPU node are connected to equal switch ports. A slower link has a "
        "cable or module of a lower class. Without other nodes, the rule needs at least four "
        "cards with one board id of which three quarters agree.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts, Input::kRdmaDevices},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .fix =
        "Cable, module, switch port; ethtool NETDEV, or smpquery -C DEVICE -P PORT -D portinfo 0 "
        "PORT",
    .evaluate_node = [](const fleet::NodeView& node,
                        Verdicts& out) { JudgeSiblings(kRateInNode, node, out); },
    .single_node_only = true,
};

extern const Rule link_speed_equal_on_rail = {
    .id = "link_speed_equal_on_rail",
    .title = "Ports of one model on a rail have links of the same rate",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A cable or module of a lower class, or a split switch port, gives a slower link without "
        "any error. The slowest link limits the speed of a collective. Expected is the rate of "
        "most ports of the model on the rail, unless a profile gives one.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .reads = {{.field = Field::kLinkRate, .applies = IsHardwareLink},
              {.field = Field::kCardKind, .applies = IsHardwareLink}},
    .fix =
        "Cable, module, switch port; ethtool NETDEV, or smpquery -C DEVICE -P PORT -D portinfo 0 "
        "PORT",
    .equality_rules = kRateOnRail,
};

extern const Rule link_speed_near_maximum = {
    .id = "link_speed_near_maximum",
    .title = "No Ethernet link of the fabric runs at one eighth of its port's maximum or less",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A 100 Gb/s port at 10 Gb/s has a wrong module, a manually set speed, or a failed "
        "negotiation. A slower switch explains a smaller difference, which is common and not "
        "reported.",
    .source =
        "kernel include/uapi/linux/ethtool.h (link modes supported); the eighth is our choice",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .reads = {{.field = Field::kLinkRate, .applies = IsEthernetHardware}},
    .fix = "ethtool NETDEV; module and switch port",
    .evaluate_node = JudgeMaximum,
};

}  // namespace fabric::rules
