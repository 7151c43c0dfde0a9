#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kEqualsMin = 3;  // Beside the port itself
constexpr double kPerSecondMin = 100;  // Below that a port may drop as it likes
constexpr double kTimesMin = 20;       // As much as the next one

struct Discards {
  const PortView* port = nullptr;
  double per_second = 0;
};

void Fail(const Discards& worst, const Discards& next, Count count, std::size_t equals,
          Verdicts& out) {
  const PortView& port = *worst.port;
  const std::string expected =
      Format("about as many as {} ({:.0f} a second)", PortName(*next.port), next.per_second);
  FailMoving(port,
             {.title = Format("{:.0f} packets a second {}, the {} other ports of its kind at most "
                              "{:.0f}",
                              worst.per_second,
                              count == Count::kReceiveDiscards ? "dropped on receipt"
                                                               : "dropped before sending",
                              equals, next.per_second),
              .expected = expected,
              .seen = Format("{:.0f} a second", worst.per_second),
              .count = count,
              .basis = Format("{} ports of one model on the node", equals)},
             {ToRemedy({.command = Format("ethtool -S {} | grep -i -e discard -e drop -e pause",
                                          WireName(port)),
                        .note = "What this port has that the others have not: buffers, PFC, PCIe "
                                "link, interrupt affinity, a queue that nobody reads."})},
             out);
}

// The worst port of the node against the others of its model.
void JudgeCount(const fleet::NodeView& node, Count count, Verdicts& out) {
  std::vector<Discards> all;
  ForMoving(node, [&](const PortView& port) {
    const auto move = Moved(port, count);
    if (move && port.device->has_model()) all.push_back({&port, move->PerSecond()});
  });
  if (all.size() <= kEqualsMin) return;
  std::stable_sort(all.begin(), all.end(), [](const Discards& a, const Discards& b) {
    return a.per_second > b.per_second;
  });
  const Discards& worst = all.front();
  if (worst.per_second < kPerSecondMin) return out.Pass();
  const Discards* next = nullptr;
  std::size_t equals = 0;
  for (const Discards& other : all) {
    if (other.port == worst.port || other.port->device->model() != worst.port->device->model())
      continue;
    if (next == nullptr) next = &other;
    ++equals;
  }
  if (equals < kEqualsMin) return;
  if (worst.per_second >= kTimesMin * std::max(1.0, next->per_second))
    Fail(worst, *next, count, equals, out);
  else
    out.Pass();
}

// What was dropped on a priority with PFC is lossless_priority_keeps_packets's.
bool DropsLossless(const fleet::NodeView& node) {
  for (const PortView& port : node.ports) {
    if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityReceiveDiscards)) continue;
    const std::uint32_t mask = LosslessMask(port).value_or(0);
    for (unsigned priority = 0; priority < 8; ++priority)
      if (Has(mask, priority) &&
          Delta(port, fleet::OfPriority(Count::kPriorityReceiveDiscards, priority)) > 0)
        return true;
  }
  return false;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  if (!node.node->rates.known()) return;
  JudgeCount(node, Count::kTransmitDiscards, out);
  if (!DropsLossless(node)) JudgeCount(node, Count::kReceiveDiscards, out);
}

}  // namespace

extern const Rule discards_like_equals = {
    .id = "discards_like_equals",
    .title = "No port drops far more packets than the others of its kind on the node",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs load the ports of a node alike. One that drops twenty times as much as the next has "
        "a fault of its own, and makes the whole job as slow as itself.",
    .source =
        "kernel mlx5/core/en_stats.c (rx_discards_phy, tx_discards_phy); PortXmitDiscards; "
        "the limits are our choice",
    .needs = "counters",
    .fix = "Compare the port with another one of the node",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
