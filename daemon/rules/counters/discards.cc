// Packets that a card drops: far more than its peers, or of a lossless priority.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kPeersMin = 3;    // Not counting the port itself
constexpr double kPerSecondMin = 100;   // Lower rates are not judged
constexpr double kTimesMin = 20;        // As a multiple of the next port
constexpr std::uint64_t kLostMin = 10;  // On a lossless priority

struct Discards {
  const PortView* port = nullptr;
  double per_second = 0;
};

void Fail(const Discards& worst, const Discards& next, Count count, std::size_t peers,
          Verdicts& out) {
  const PortView& port = *worst.port;
  FailOnCounter(
      port,
      {.title = Format(
           "{:.0f} packets a second {}, the {} other ports of its kind at most {:.0f}",
           worst.per_second,
           count == Count::kReceiveDiscards ? "dropped on receipt" : "dropped before sending",
           peers, next.per_second),
       .expected =
           Format("about the same as {} ({:.0f} a second)", PortName(*next.port), next.per_second),
       .seen = Format("{:.0f} a second", worst.per_second),
       .count = count,
       .basis = Format("{} ports of one model on the node", peers)},
      {Query(
          {.command = Format("ethtool -S {} | grep -i -e discard -e drop -e pause", WireName(port)),
           .note = "Compare with the other ports: buffers, PFC, PCIe link, interrupt "
                   "affinity, a queue that no process reads."})},
      out);
}

// Compares the worst port of the node with the others of its model.
void JudgeCount(const fleet::NodeView& node, Count count, Verdicts& out) {
  std::vector<Discards> all;
  ForPortsWithRates(node, [&](const PortView& port) {
    const auto increase = IncreaseOf(port, count);
    if (increase && port.device->has_model()) all.push_back({&port, increase->PerSecond()});
  });
  if (all.size() <= kPeersMin) return;
  std::stable_sort(all.begin(), all.end(), [](const Discards& a, const Discards& b) {
    return a.per_second > b.per_second;
  });
  const Discards& worst = all.front();
  if (worst.per_second < kPerSecondMin) return out.Pass();
  const Discards* next = nullptr;
  std::size_t peers = 0;
  for (const Discards& other : all) {
    if (other.port == worst.port || other.port->device->model() != worst.port->device->model())
      continue;
    if (next == nullptr) next = &other;
    ++peers;
  }
  if (peers < kPeersMin) return;
  if (worst.per_second >= kTimesMin * std::max(1.0, next->per_second))
    Fail(worst, *next, count, peers, out);
  else
    out.Pass();
}

// lossless_priority_keeps_packets reports these.
bool DropsLossless(const fleet::NodeView& node) {
  for (const PortView& port : node.ports) {
    if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityReceiveDiscards)) continue;
    const PriorityMask mask = PfcMask(port).value_or(PriorityMask());
    for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority)
      if (mask.Has(priority) &&
          Delta(port, fleet::OfPriority(Count::kPriorityReceiveDiscards, priority)) > 0)
        return true;
  }
  return false;
}

void EvaluateDiscards(const fleet::NodeView& node, Verdicts& out) {
  if (!node.node->rates.known()) return;
  JudgeCount(node, Count::kTransmitDiscards, out);
  if (!DropsLossless(node)) JudgeCount(node, Count::kReceiveDiscards, out);
}

void FailLossless(const PortView& port, unsigned priority, const CounterIncrease& increase,
                  Verdicts& out) {
  const std::string seen =
      Format("{} packets in {}", increase.delta, ShowSeconds(increase.seconds));
  FailOnCounter(
      port,
      {.title = Format("priority {} has PFC and lost packets on receipt: {}, expected none",
                       priority, seen),
       .expected = "none",
       .seen = seen,
       .count = fleet::OfPriority(Count::kPriorityReceiveDiscards, priority)},
      {Query({.command = Format("dcb buffer show dev {}", WireName(port)),
              .note = "Check the headroom: a separate buffer for the priority, correct MTU and "
                      "cable length. Check that the switch has PFC on for the priority."})},
      out);
}

// Reads settings only where packets were dropped: most ports drop none.
void JudgeLossless(const PortView& port, Verdicts& out) {
  if (!fleet::HasAnyPriority(port.activity.known, Count::kPriorityReceiveDiscards)) return;
  if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityReceiveDiscards))
    return out.Pass();
  const PriorityMask mask = PfcMask(port).value_or(PriorityMask());
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority) {
    const auto lost =
        IncreaseOf(port, fleet::OfPriority(Count::kPriorityReceiveDiscards, priority));
    if (!lost || lost->delta < kLostMin || !mask.Has(priority)) continue;
    // no_pause_storm reports a card that stops a storm: it drops packets on purpose.
    if (!HasPauseStorm(port)) FailLossless(port, priority, *lost, out);
    return;
  }
  out.Pass();
}

void EvaluateLossless(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeLossless(port, out); });
}

}  // namespace

extern const Rule discards_like_equals = {
    .id = "discards_like_equals",
    .title = "No port drops far more packets than the others of its kind on the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs load the ports of a node equally. A port that drops twenty times as much as the next "
        "one has its own fault, and makes the whole job as slow as itself.",
    .source =
        "kernel mlx5/core/en_stats.c (rx_discards_phy, tx_discards_phy); PortXmitDiscards; "
        "the limits are our choice",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Compare the port with another one of the node",
    .evaluate_node = EvaluateDiscards,
};

extern const Rule lossless_priority_keeps_packets = {
    .id = "lossless_priority_keeps_packets",
    .title = "A card drops no packets of a priority that has PFC",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC is on and does not protect: the pause comes too late because the buffer has no room "
        "for packets in flight, or the switch ignores it. RDMA must send again after each lost "
        "packet.",
    .source = "kernel mlx5/core/en_stats.c (rx_prioN_buf_discard, rx_prioN_discards)",
    .needs = {Input::kCounters, Input::kDcb},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Check buffer and headroom of the priority, and PFC of the switch port",
    .evaluate_node = EvaluateLossless,
};

}  // namespace fabric::rules
