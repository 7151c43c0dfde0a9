// Packets that a card drops, far more than its peers or of a lossless priority; waits for credits.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::size_t kPeersMin = 3;    // Not counting the port itself
constexpr double kPerSecondMin = 100;   // Lower rates are not judged
constexpr double kTimesMin = 20;        // As a multiple of the next port
constexpr std::uint64_t kLostMin = 10;  // On a lossless priority
// With 8 bytes for each tick, a tenth of a link of 100 Gb/s.
constexpr double kTicksPerSecondMin = 150'000'000;

struct Discards {
  const PortView* port = nullptr;
  double per_second = 0;
};

// A count that is compared among the ports of a node.
struct Compared {
  Count count = {};
  std::string_view what;      // "packets a second dropped on receipt"
  double per_second_min = 0;  // Lower rates are not judged
  std::string (*command)(const PortView&) = nullptr;
  std::string_view note;
};

std::string ShowDrops(const PortView& port) {
  return Format("ethtool -S {} | grep -i -e discard -e drop -e pause", WireName(port));
}
std::string ShowWaits(const PortView& port) {
  if (IsInfiniband(port)) return Format("perfquery {} -x", ThroughPort(port));
  return Format("cd / && grep . {}", PortFile(port, "counters/port_xmit_wait"));
}

constexpr std::string_view kDropNote =
    "Compare with the other ports: buffers, PFC, PCIe link, interrupt affinity, a queue that no "
    "process reads.";
constexpr Compared kReceived = {.count = Count::kReceiveDiscards,
                                .what = "packets a second dropped on receipt",
                                .per_second_min = kPerSecondMin,
                                .command = ShowDrops,
                                .note = kDropNote};
constexpr Compared kSent = {.count = Count::kTransmitDiscards,
                            .what = "packets a second dropped before sending",
                            .per_second_min = kPerSecondMin,
                            .command = ShowDrops,
                            .note = kDropNote};
constexpr Compared kWaits = {
    .count = Count::kCreditWait,
    .what = "ticks a second waited for credits",
    .per_second_min = kTicksPerSecondMin,
    .command = ShowWaits,
    .note =
        "The switch port does not give credits back. Compare the path of this rail with the "
        "others: a slow receiver, an uplink that is down, or a congested leaf switch."};

void Fail(const Discards& worst, const Discards& next, const Compared& compared, std::size_t peers,
          Verdicts& out) {
  const PortView& port = *worst.port;
  FailOnCounter(
      port,
      {.title = Format("{:.0f} {}, the {} other ports of its kind at most {:.0f}", worst.per_second,
                       compared.what, peers, next.per_second),
       .expected =
           Format("about the same as {} ({:.0f} a second)", PortName(*next.port), next.per_second),
       .seen = Format("{:.0f} a second", worst.per_second),
       .count = compared.count,
       .basis = Format("{} ports of one model on the node", peers)},
      {Query({.command = compared.command(port), .note = std::string(compared.note)})}, out);
}

// Compares the worst port of the node with the others of its model.
void JudgeCount(const fleet::NodeView& node, const Compared& compared, Verdicts& out) {
  std::vector<Discards> all;
  ForPortsWithRates(node, [&](const PortView& port) {
    const auto increase = IncreaseOf(port, compared.count);
    if (increase && port.device->has_model()) all.push_back({&port, increase->PerSecond()});
  });
  if (all.size() <= kPeersMin) return;
  std::stable_sort(all.begin(), all.end(), [](const Discards& a, const Discards& b) {
    return a.per_second > b.per_second;
  });
  const Discards& worst = all.front();
  if (worst.per_second < compared.per_second_min) return out.Pass();
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
    Fail(worst, *next, compared, peers, out);
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
  JudgeCount(node, kSent, out);
  if (!DropsLossless(node)) JudgeCount(node, kReceived, out);
}

// By the profile's limit. The length of a tick depends on the device; NVIDIA's count one for every
// 8 bytes that the port could have sent.
constexpr double kBitsOfTick = 64;

void JudgeWaits(const PortView& port, Verdicts& out) {
  const auto waits = IncreaseOf(port, Count::kCreditWait);
  const auto rate_bps = LinkRate(port);
  if (!waits || !rate_bps || *rate_bps == 0) return;
  const double percent =
      std::min(100.0, 100 * kBitsOfTick * waits->PerSecond() / static_cast<double>(*rate_bps));
  const double limit = port.expected().xmit_wait_max_percent();
  if (percent <= limit) return out.Pass();
  const std::string expected = Format("at most {:.3g} %", limit);
  FailOnCounter(port,
                {.title = Format("waited for credits for {:.1f} % of {}, expected {}", percent,
                                 ShowSeconds(waits->seconds), expected),
                 .expected = expected,
                 .seen = Format("{:.1f} % ({} ticks)", percent, waits->delta),
                 .count = Count::kCreditWait,
                 .basis = ProfileBasis(*port.expectation)},
                {Query({.command = ShowWaits(port), .note = std::string(kWaits.note)})}, out);
}

void EvaluateWaits(const fleet::NodeView& node, Verdicts& out) {
  if (!node.node->rates.known()) return;
  bool by_profile = false;
  ForPortsWithRates(node, [&](const PortView& port) {
    if (!port.expected().has_xmit_wait_max_percent()) return;
    by_profile = true;
    JudgeWaits(port, out);
  });
  if (!by_profile) JudgeCount(node, kWaits, out);
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

extern const Rule credits_available = {
    .id = "credits_available",
    .title = "A port does not wait for credits far longer than the others of its kind on the node",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "The port had data to send, and the switch gave no credit: congestion in the fabric. Jobs "
        "load the ports of a node equally, so one port that waits twenty times as long has a path "
        "with a fault. With a limit of the profile, each port is judged by itself.",
    .source =
        "InfiniBand specification, PortXmitWait; NVIDIA ibdiagnet manual, congestion assessment "
        "(a tick is 8 bytes); the limits are our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kXmitWaitMaxPercentFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Find the slow receiver or the congested link of the rail",
    .evaluate_node = EvaluateWaits,
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
