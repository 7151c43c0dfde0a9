#include "daemon/rules/facts.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/siblings.h"

namespace fabric::rules {
namespace {

std::optional<std::uint64_t> Rate(const fleet::PortView& port) {
  if (port.expected().has_rate_bps() || IsSingleLane(port) || IsFarBelowMaximum(port)) return {};
  return LinkRate(port);
}

std::vector<v1::Remedy> Remedies(const fleet::PortView& port, std::uint64_t) {
  return RateRemedies(port);
}

constexpr Sibling kRate = {.what = "link rate",
                           .value = Rate,
                           .show = ShowRate,
                           .source = RateSource,
                           .remedies = Remedies};

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  JudgeSiblings(kRate, node, out);
}

}  // namespace

extern const Rule link_speed_equal_in_node = {
    .id = "link_speed_equal_in_node",
    .title = "Of a machine judged alone, equal cards have links of the same rate",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Eight equal cards of a GPU node hang on eight equal switch ports: one that is slower has "
        "a cable or module of a lower class. Without other nodes to compare with, at least four "
        "cards with one board id are needed of which three fourths agree.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts, Input::kRdmaDevices},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .fix = "Cable, module, switch port; ethtool NETDEV, or ibportstate LID PORT query",
    .evaluate_node = Evaluate,
    .single_node_only = true,
};

}  // namespace fabric::rules
