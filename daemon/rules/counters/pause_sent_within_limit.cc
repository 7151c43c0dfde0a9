#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const auto paused = PauseSent(port);
  if (!paused || HasPauseStorm(port)) return;  // no_pause_storm reports it
  const PauseLimit limit = PauseLimitOf(port);
  if (paused->percent <= limit.percent) return out.Pass();
  const std::string expected = Format("at most {:.3g} % of the time", limit.percent);
  FailMoving(
      port,
      {.title = Format("the host paused {} for {:.1f} % of {}, expected {}", ShowPaused(*paused),
                       paused->percent, ShowSeconds(paused->seconds), expected),
       .expected = expected,
       .seen = Format("{:.1f} %", paused->percent),
       .count = paused->count,
       .basis = limit.basis},
      {ToRemedy({.command = Format("lspci -vv -s {} | grep LnkSta", port.device->pci_address()),
                 .note = "The card receives faster than the host takes: PCIe speed and width, "
                         "IOMMU, memory of another socket, receive queues that run empty."}),
       ToRemedy({.command = Format("ethtool -S {} | grep -e pause -e pci -e out_of_buffer",
                                   WireName(port))})},
      out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule pause_sent_within_limit = {
    .id = "pause_sent_within_limit",
    .title = "A host does not pause its switch for a large part of the time",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A host that takes less than its port receives pauses the switch, the switch pauses those "
        "who send to it, and traffic between others stands still behind that: one slow receiver "
        "makes many slow nodes, and is itself the one that looks well.",
    .source =
        "IEEE 802.1Qbb; kernel mlx5/core/en_stats.c (tx_prioN_pause_duration); the limit of "
        "20 percent is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kPauseMaxPercentFieldNumber},
    .fix = "PCIe link, IOMMU and memory of the host",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
