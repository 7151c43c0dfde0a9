#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void JudgePort(const PortView& port, Verdicts& out) {
  const auto paused = PauseReceived(port);
  if (!paused) return;
  const PauseLimit limit = PauseLimitOf(port);
  if (paused->percent <= limit.percent) return out.Pass();
  // One that pauses its own switch so long stops the fabric, itself included.
  if (const auto sent = PauseSent(port); sent && sent->percent > limit.percent) return;
  const std::string expected = Format("at most {:.3g} % of the time", limit.percent);
  FailMoving(
      port,
      {.title = Format("the switch paused {} for {:.1f} % of {}, expected {}", ShowPaused(*paused),
                       paused->percent, ShowSeconds(paused->seconds), expected),
       .expected = expected,
       .seen = Format("{:.1f} %", paused->percent),
       .count = paused->count,
       .basis = limit.basis},
      {ToRemedy({.command = "fabricctl findings --rule pause_sent_within_limit",
                 .note = "This port is the victim: look for the port that sends pauses, or "
                         "for the switch port with the longest queue. With pauses of the "
                         "whole link, go over to PFC."}),
       ToRemedy({.command = Format("ethtool -S {} | grep pause", WireName(port))})},
      out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule pause_received_within_limit = {
    .id = "pause_received_within_limit",
    .title = "The switch does not pause a port for a large part of the time",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that is paused cannot send: jobs are slower by that part, and no drop counter "
        "says why. Short pauses are how lossless fabrics work; long ones mean a slow receiver, "
        "too many senders to one port, or ECN that does not act before PFC.",
    .source =
        "IEEE 802.1Qbb; kernel mlx5/core/en_stats.c (rx_prioN_pause_duration); the limit of "
        "20 percent is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kPauseMaxPercentFieldNumber},
    .fix = "Find who sends pauses; ECN thresholds below those of PFC",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
