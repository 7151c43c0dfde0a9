#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) {
    const auto storms = Moved(port, Count::kPauseStorms);
    if (!storms) return;
    if (storms->delta == 0) return out.Pass();
    const std::string seen =
        Format("{} pause storms in {}", storms->delta, ShowSeconds(storms->seconds));
    FailMoving(
        port,
        {.title = seen + ", expected none",
         .expected = "none",
         .seen = seen,
         .count = Count::kPauseStorms},
        {ToRemedy({.command = Format("dmesg | grep -i -e {} -e pcie -e xid", WireName(port)),
                   .note = "Who does not take what the card receives: a hung GPU, a PCIe "
                           "link that fell back, an IOMMU. Drain the node: it pauses all "
                           "that sends to it."}),
         ToRemedy({.command = Format("ethtool -S {} | grep -e pause -e stalled", WireName(port))})},
        out);
  });
}

}  // namespace

extern const Rule no_pause_storm = {
    .id = "no_pause_storm",
    .title = "No card pauses its link for so long that it stops it itself",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "The host does not take what arrives, and the card paused the switch until its own "
        "watermark; then it drops packets instead. Until then the switch pauses everybody who "
        "sends there, and so on: one hung host can stop a fabric.",
    .source =
        "kernel mlx5/core/en_stats.c (tx_pause_storm_error_events); bnxt_ethtool.c "
        "(continuous_roce_pause_events)",
    .needs = {Input::kCounters},
    .fix = "Drain the node; look at its GPUs and PCIe",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
