#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 10;

void Fail(const PortView& port, unsigned priority, const CounterIncrease& move, Verdicts& out) {
  const std::string seen = Format("{} packets in {}", move.delta, ShowSeconds(move.seconds));
  FailMoving(
      port,
      {.title = Format("priority {} has PFC and was dropped on receipt all the same: {}", priority,
                       seen),
       .expected = "none",
       .seen = seen,
       .count = fleet::OfPriority(Count::kPriorityReceiveDiscards, priority)},
      {ToRemedy({.command = Format("dcb buffer show dev {}", WireName(port)),
                 .note = "Headroom: a buffer of its own for the priority, MTU and cable length "
                         "right; and does the switch have PFC on for the priority at all?"})},
      out);
}

// Settings are looked at only where something was dropped: most ports are well.
void JudgePort(const PortView& port, Verdicts& out) {
  if (!fleet::HasAnyPriority(port.activity.known, Count::kPriorityReceiveDiscards)) return;
  if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityReceiveDiscards))
    return out.Pass();
  for (unsigned priority = 0; priority < 8; ++priority) {
    const auto move = Moved(port, fleet::OfPriority(Count::kPriorityReceiveDiscards, priority));
    if (!move || move->delta < kPacketsMin || !Has(LosslessMask(port).value_or(0), priority))
      continue;
    // A card that stops a storm drops on purpose: no_pause_storm reports it.
    if (!HasPauseStorm(port)) Fail(port, priority, *move, out);
    return;
  }
  out.Pass();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule lossless_priority_keeps_packets = {
    .id = "lossless_priority_keeps_packets",
    .title = "A card drops no packets of a priority that has PFC",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC is on and does not protect: the pause comes too late because the buffer has no room "
        "for what is on the wire, or the switch does not listen. Each lost packet costs RDMA a "
        "round of sending again.",
    .source = "kernel mlx5/core/en_stats.c (rx_prioN_buf_discard, rx_prioN_discards)",
    .needs = "counters, dcb",
    .fix = "Buffer and headroom of the priority; PFC of the switch port",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
