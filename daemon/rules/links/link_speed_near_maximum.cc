#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/links/link.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (IsInfiniband(port) || port.expected().has_rate_bps() || !LinkRate(port)) continue;
    if (!port.netdev->has_speed_max_bps()) continue;
    if (!IsFarBelowMaximum(port)) {
      out.Pass();
      continue;
    }
    const std::string seen = ShowRate({.number = port.netdev->speed_bps()});
    const std::string most = ShowRate({.number = port.netdev->speed_max_bps()});
    out.Fail(port.Subject(),
             Format("link rate {}, expected near the {} that the port can do", seen, most),
             {ToEvidence(*port.node, {.what = "link rate",
                                      .expected = most,
                                      .seen = seen,
                                      .source = RateSource(port),
                                      .basis = "fastest mode that port and module support"})},
             RateRemedies(port));
  }
}

}  // namespace

extern const Rule link_speed_near_maximum = {
    .id = "link_speed_near_maximum",
    .title = "No Ethernet link of the fabric runs at an eighth of what its port can do, or less",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A 100 Gb/s port at 10 Gb/s is no slower switch, which is common and not reported, but a "
        "wrong module, a fixed speed, or a failed negotiation.",
    .source =
        "kernel include/uapi/linux/ethtool.h (link modes supported); the eighth is our choice",
    .needs = {Input::kNetInterfaces},
    .profile = {v1::Expectations::kRateBpsFieldNumber},
    .fix = "ethtool NETDEV; module and switch port",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
