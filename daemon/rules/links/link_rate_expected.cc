#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, std::string_view what, const std::string& seen,
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

void JudgePort(const PortView& port, Verdicts& out) {
  const v1::Expectations& expected = port.expected();
  const auto rate = LinkRate(port);
  const bool slow = rate && expected.has_rate_bps() && *rate < expected.rate_bps();
  const bool narrow = expected.has_width() && port.port->has_width() &&
                      port.port->link_layer() == v1::LINK_LAYER_INFINIBAND &&
                      port.port->width() < expected.width();
  if (slow)
    Fail(port, "link rate", ShowRate({.number = *rate}), ShowRate({.number = expected.rate_bps()}),
         out);
  else if (narrow)
    Fail(port, "lanes", Format("{}", port.port->width()), Format("{}", expected.width()), out);
  else if (rate)
    out.Pass();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports)
    if (port.rail && IsUp(port) && (port.expected().has_rate_bps() || port.expected().has_width()))
      JudgePort(port, out);
}

}  // namespace

extern const Rule link_rate_expected = {
    .id = "link_rate_expected",
    .title = "Every link runs at least at the rate that the profile says",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A link that trained slower or with fewer lanes is up and looks fine; the slowest link of "
        "a collective sets the speed of all of it.",
    .source = "kernel ABI documents sysfs-class-net (speed) and sysfs-class-infiniband (rate)",
    .needs = {Input::kNetInterfaces, Input::kRdmaPorts},
    .profile = {v1::Expectations::kRateBpsFieldNumber, v1::Expectations::kWidthFieldNumber},
    .fix = "Cable, module, switch port; ethtool NETDEV, or ibportstate LID PORT query",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
