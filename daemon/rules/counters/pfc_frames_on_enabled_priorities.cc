#include <bit>

#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"
#include "daemon/rules/switches/switches.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Fewer are what a switch sends while somebody changes its settings.
constexpr std::uint64_t kFramesMin = 100;

// The switch says in LLDP what it has: switch_pfc_equals_host compares that. A port that differs
// from others of its node is pfc_equal_on_rail's.
bool IsReportedElsewhere(const fleet::NodeView& node, const PortView& port, std::uint32_t mask) {
  const v1::LldpNeighbor* const neighbor = NeighborOf(port);
  if (neighbor != nullptr && neighbor->has_pfc() && neighbor->pfc().enabled_mask() != mask)
    return true;
  for (const PortView& other : node.ports)
    if (LosslessMask(other).value_or(mask) != mask) return true;
  return LacksPfcUnderLossless(port);
}

void Fail(const PortView& port, std::uint32_t mask, std::uint32_t ignored, Verdicts& out) {
  Count most = fleet::OfPriority(Count::kPriorityPfcReceived,
                                 static_cast<unsigned>(std::countr_zero(ignored)));
  for (unsigned priority = 0; priority < 8; ++priority) {
    const Count count = fleet::OfPriority(Count::kPriorityPfcReceived, priority);
    if (Has(ignored, priority) && Delta(port, count) > Delta(port, most)) most = count;
  }
  FailMoving(port,
             {.title = Format("the switch pauses priorities {}, PFC is on for {}",
                              PriorityMask(ignored), PriorityMask(mask)),
              .expected = "pauses of " + PriorityMask(mask),
              .seen = Format("{} frames for {}", Delta(port, most), PriorityMask(ignored)),
              .count = most},
             {ToRemedy({.command = Format("dcb pfc show dev {}", WireName(port)),
                        .note = "Decide which priority is meant, and set PFC and the DSCP map "
                                "alike on switch port and hosts."})},
             out);
}

// Settings are looked at only where frames came.
void JudgePort(const fleet::NodeView& node, const PortView& port, Verdicts& out) {
  if (!fleet::HasAnyPriority(port.activity.known, Count::kPriorityPfcReceived)) return;
  if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityPfcReceived)) return out.Pass();
  std::uint32_t paused = 0;
  for (unsigned priority = 0; priority < 8; ++priority)
    if (Delta(port, fleet::OfPriority(Count::kPriorityPfcReceived, priority)) >= kFramesMin)
      paused |= 1U << priority;
  if (paused == 0) return out.Pass();
  const auto mask = LosslessMask(port);
  if (!mask || IsReportedElsewhere(node, port, *mask)) return;
  if ((paused & ~*mask) == 0) return out.Pass();
  Fail(port, *mask, paused & ~*mask, out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(node, port, out); });
}

}  // namespace

extern const Rule pfc_frames_on_enabled_priorities = {
    .id = "pfc_frames_on_enabled_priorities",
    .title = "The switch pauses only priorities for which the host has PFC on",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Pauses of a priority that is not enabled are counted and ignored: the host goes on "
        "sending, and the switch drops. Host and switch were set up for different priorities.",
    .source =
        "IEEE 802.1Qbb; kernel bnxt_ethtool.c (rx_pfc_enaN_frames). mlx5 counts only "
        "priorities that are enabled",
    .needs = "counters, dcb",
    .fix = "The same priorities on host and switch port",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
