
#include "daemon/rules/counters/pauses.h"
#include "base/text.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void TakeHigher(const PortView& port, Count count, std::optional<unsigned> priority,
                std::optional<Paused>& most) {
  const auto increase = IncreaseOf(port, count);
  if (!increase) return;
  const double percent = PercentOfTime(*increase);
  if (most && percent <= most->percent) return;
  most = {.percent = percent, .count = count, .seconds = increase->seconds, .priority = priority};
}

std::optional<Paused> Highest(const PortView& port, Count of_link, Count of_priorities) {
  std::optional<Paused> most;
  TakeHigher(port, of_link, {}, most);
  if (most && !fleet::HasAnyPriority(port.activity.grown, of_priorities)) return most;
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority)
    TakeHigher(port, fleet::OfPriority(of_priorities, priority), priority, most);
  return most;
}

// `paused`: "the switch paused", "the host paused".
void Fail(const PortView& port, std::string_view paused, const Paused& pause,
          const PauseLimit& limit, std::vector<v1::Remedy> remedies, Verdicts& out) {
  const std::string expected = Format("at most {:.3g} % of the time", limit.percent);
  const std::string what =
      pause.priority ? Format("priority {}", *pause.priority) : std::string("the whole link");
  FailOnCounter(port,
                {.title = Format("{} {} for {:.1f} % of {}, expected {}", paused, what,
                                 pause.percent, ShowSeconds(pause.seconds), expected),
                 .expected = expected,
                 .seen = Format("{:.1f} %", pause.percent),
                 .count = pause.count,
                 .basis = limit.basis},
                std::move(remedies), out);
}

v1::Remedy ShowCounters(const PortView& port, std::string_view pattern) {
  return Query({.command = Format("ethtool -S {} | grep {}", WireName(port), pattern)});
}

constexpr double kStoppedPercent = 95;  // Our choice: all of the window but its ends

// A priority that was paused for the whole window and sent nothing.
std::optional<unsigned> StoppedPriority(const PortView& port) {
  if (!fleet::HasAnyPriority(port.activity.grown, Count::kPriorityPfcReceivedUs)) return {};
  for (unsigned priority = 0; priority < PriorityMask::kPriorities; ++priority) {
    const auto paused =
        IncreaseOf(port, fleet::OfPriority(Count::kPriorityPfcReceivedUs, priority));
    const auto sent =
        IncreaseOf(port, fleet::OfPriority(Count::kPriorityTransmittedBytes, priority));
    if (paused && sent && PercentOfTime(*paused) >= kStoppedPercent && sent->delta == 0)
      return priority;
  }
  return {};
}

void JudgeReceived(const PortView& port, Verdicts& out) {
  const auto paused = PauseReceived(port);
  if (!paused) return;
  const PauseLimit limit = PauseLimitOf(port);
  if (paused->percent <= limit.percent) return out.Pass();
  if (StoppedPriority(port)) return;  // no_pause_deadlock
  // pause_sent_within_limit: a port that pauses its own switch that long stops the whole fabric.
  if (const auto sent = PauseSent(port); sent && sent->percent > limit.percent) return;
  Fail(port, "the switch paused", *paused, limit,
       {Query({.command = "fabricctl findings --rule pause_sent_within_limit",
               .note = "This port is the victim. Find the port that sends pauses, or the switch "
                       "port with the longest queue. If the whole link is paused, change to "
                       "PFC."}),
        ShowCounters(port, "pause")},
       out);
}

void EvaluateReceived(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeReceived(port, out); });
}

void JudgeSent(const PortView& port, Verdicts& out) {
  const auto paused = PauseSent(port);
  if (!paused || HasPauseStorm(port)) return;  // no_pause_storm
  const PauseLimit limit = PauseLimitOf(port);
  if (paused->percent <= limit.percent) return out.Pass();
  Fail(port, "the host paused", *paused, limit,
       {Query({.command = Format("lspci -vv -s {} | grep LnkSta", port.device->pci_address()),
               .note = "The card receives faster than the host accepts. Check PCIe speed and "
                       "width, IOMMU, memory of another socket, empty receive queues."}),
        ShowCounters(port, "-e pause -e pci -e out_of_buffer")},
       out);
}

void EvaluateSent(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeSent(port, out); });
}

void JudgeDeadlock(const PortView& port, Verdicts& out) {
  if (!fleet::HasAnyPriority(port.activity.known, Count::kPriorityPfcReceivedUs)) return;
  const auto priority = StoppedPriority(port);
  if (!priority) return out.Pass();
  const Count count = fleet::OfPriority(Count::kPriorityPfcReceivedUs, *priority);
  const auto paused = IncreaseOf(port, count);
  const std::string seen =
      Format("{:.0f} % of {}, nothing sent", PercentOfTime(*paused), ShowSeconds(paused->seconds));
  FailOnCounter(
      port,
      {.title =
           Format("the switch paused priority {} for {}, expected pauses to end", *priority, seen),
       .expected = "pauses that end",
       .seen = seen,
       .count = count},
      {Query({.command = "fabricctl findings --rule no_pause_storm",
              .note = "A host or switch port pauses without end, or switches wait for each other "
                      "in a circle. Find the first one, and isolate it. Turn on the PFC watchdog "
                      "of the switches: it ends the circle by dropping packets."}),
       ShowCounters(port, "pause")},
      out);
}

void EvaluateDeadlock(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeDeadlock(port, out); });
}

void JudgeStorm(const PortView& port, Verdicts& out) {
  const auto storms = IncreaseOf(port, Count::kPauseStorms);
  if (!storms) return;
  if (storms->delta == 0) return out.Pass();
  const std::string seen =
      Format("{} pause storms in {}", storms->delta, ShowSeconds(storms->seconds));
  FailOnCounter(
      port,
      {.title = seen + ", expected none",
       .expected = "none",
       .seen = seen,
       .count = Count::kPauseStorms},
      {Query({.command = Format("dmesg | grep -i -e {} -e pcie -e xid", WireName(port)),
              .note = "Find out why the host does not accept packets: a hung GPU, a degraded "
                      "PCIe link, an IOMMU. Drain the node: it pauses all that send to it."}),
       ShowCounters(port, "-e pause -e stalled")},
      out);
}

void EvaluateStorm(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeStorm(port, out); });
}

}  // namespace

std::optional<Paused> PauseReceived(const PortView& port) {
  return Highest(port, Count::kPauseReceivedUs, Count::kPriorityPfcReceivedUs);
}

std::optional<Paused> PauseSent(const PortView& port) {
  return Highest(port, Count::kPauseSentUs, Count::kPriorityPfcSentUs);
}

PauseLimit PauseLimitOf(const PortView& port) {
  if (!port.expected().has_pause_max_percent()) return {};
  return {.percent = port.expected().pause_max_percent(), .basis = ProfileBasis(*port.expectation)};
}

bool HasPauseStorm(const PortView& port) {
  return Delta(port, Count::kPauseStorms) > 0;
}

extern const Rule pause_received_within_limit = {
    .id = "pause_received_within_limit",
    .title = "The switch does not pause a port for a large part of the time",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A paused port cannot send: jobs are slower by that part of the time, and no drop counter "
        "shows it. Short pauses are normal in lossless fabrics. Long ones mean a slow receiver, "
        "too many senders to one port, or ECN that does not act before PFC.",
    .source =
        "IEEE 802.1Qbb; kernel mlx5/core/en_stats.c (rx_prioN_pause_duration); the limit of "
        "20 percent is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kPauseMaxPercentFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Find the sender of the pauses; set ECN thresholds below those of PFC",
    .evaluate_node = EvaluateReceived,
};

extern const Rule pause_sent_within_limit = {
    .id = "pause_sent_within_limit",
    .title = "A host does not pause its switch for a large part of the time",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A host that accepts less than its port receives pauses the switch. The switch then pauses "
        "all that send to it, and other traffic stops behind them. One slow receiver makes many "
        "slow nodes and looks healthy itself.",
    .source =
        "IEEE 802.1Qbb; kernel mlx5/core/en_stats.c (tx_prioN_pause_duration); the limit of "
        "20 percent is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kPauseMaxPercentFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Check PCIe link, IOMMU and memory of the host",
    .evaluate_node = EvaluateSent,
};

extern const Rule no_pause_deadlock = {
    .id = "no_pause_deadlock",
    .title = "No priority of a port is paused without end",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "The priority was paused for the whole time and sent nothing. Either something upstream "
        "pauses without end, or switches with a loop of buffers wait for each other. All jobs on "
        "the priority stop, and no packet is counted as lost.",
    .source =
        "IEEE 802.1Qbb; kernel mlx5/core/en_stats.c (rx_prioN_pause_duration, tx_prioN_bytes); "
        "PFC watchdogs of switches act after 100 to 400 ms",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Isolate the source of the pauses; PFC watchdog on the switches",
    .evaluate_node = EvaluateDeadlock,
};

extern const Rule no_pause_storm = {
    .id = "no_pause_storm",
    .title = "No card pauses its link until its storm prevention acts",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "The host does not accept packets, and the card paused the switch up to its own time "
        "limit. After that the card drops packets instead. Until then the switch pauses all that "
        "send there, and so on: one hung host can stop a fabric.",
    .source =
        "kernel mlx5/core/en_stats.c (tx_pause_storm_error_events); bnxt_ethtool.c "
        "(continuous_roce_pause_events)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Drain the node; check its GPUs and PCIe",
    .evaluate_node = EvaluateStorm,
};

}  // namespace fabric::rules
