// Links that have errors, go down, retrain or stall.
#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::vector<v1::Remedy> ErrorRemedies(const PortView& port) {
  const v1::Remedy swap =
      Query({.command = port.port->link_layer() == v1::LINK_LAYER_INFINIBAND
                            ? Format("perfquery {} -x", ThroughPort(port))
                            : Format("ethtool -m {}", WireName(port)),
             .note = "Clean and reseat the cable. Then replace the cable or module, then the "
                     "switch port: the errors move with the bad part. Check the other end too."});
  if (!DriverOf(port).starts_with("mlx5")) return {swap};
  return {swap, Query({.platform = "mlx5",
                       .command = Format("mlxlink -d {} -p {} -c", port.device->pci_address(),
                                         port.port->number()),
                       .note = "Shows bit error rates, eye and module of the link."})};
}

void JudgeErrors(const PortView& port, Verdicts& out) {
  const std::vector<LinkError> errors = LinkErrors(port);
  if (errors.empty()) {
    if (LinkIncreaseOf(port, Count::kSymbolErrors) || LinkIncreaseOf(port, Count::kFcsErrors) ||
        LinkIncreaseOf(port, Count::kFecUncorrectableBlocks))
      out.Pass();
    return;
  }
  std::vector<std::string> seen;
  std::vector<v1::Evidence> evidence;
  for (const LinkError& error : errors) {
    const std::string expected = Format("at most {} an hour", error.limit_per_hour);
    const std::string time = ShowSeconds(error.increase.seconds);
    seen.push_back(Format("{} {} in {}, expected {}", error.increase.delta,
                          fleet::NeutralName(error.count), time, expected));
    evidence.push_back(ToEvidence(
        port, {.title = {},
               .expected = expected,
               .seen = Format("{} in {}", error.increase.delta, time),
               .count = error.count,
               .basis = error.of_profile ? ProfileBasis(*port.expectation) : "specification"}));
  }
  out.Fail(port.Subject(), Join(seen, "; "), std::move(evidence), ErrorRemedies(port));
}

void EvaluateErrors(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeErrors(port, out); });
}

void JudgeFlaps(const PortView& port, Verdicts& out) {
  const auto downs = LinkIncreaseOf(port, Count::kLinkDowns);
  if (!downs) return;
  if (!IsFlapping(port)) return out.Pass();
  const std::string seen = Format("{} times in {}", downs->delta, ShowSeconds(downs->seconds));
  FailOnCounter(
      port,
      {.title = Format("link went down {}, expected to stay up", seen),
       .expected = "fewer than 5 times a day",
       .seen = seen,
       .count = Count::kLinkDowns},
      {Query({.command = Format("dmesg | grep -i -e 'link' -e {}", WireName(port)),
              .note = "Shows when, and whether other ports of the switch went down too. Then "
                      "reseat or replace cable and module. A port that comes up again has new "
                      "GIDs, which running jobs do not find."})},
      out);
}

void EvaluateFlaps(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeFlaps(port, out); });
}

constexpr std::uint64_t kPcieErrorsMax = 10;  // Within an hour

void JudgePcie(const PortView& port, Verdicts& out) {
  const auto received = LinkIncreaseOf(port, Count::kPcieReceiveErrors);
  if (!received) return;
  const auto sent = LinkIncreaseOf(port, Count::kPcieTransmitErrors);
  const bool by_sent = sent && sent->delta > received->delta;
  const CounterIncrease& most = by_sent ? *sent : *received;
  if (PerHour(most) <= kPcieErrorsMax) return out.Pass();
  const std::string seen = Format("{} times in {}", most.delta, ShowSeconds(most.seconds));
  const std::string expected = Format("at most {} an hour", kPcieErrorsMax);
  FailOnCounter(
      port,
      {.title = Format("PCIe link of the card retrained because of errors {}, expected {}", seen,
                       expected),
       .expected = expected,
       .seen = seen,
       .count = by_sent ? Count::kPcieTransmitErrors : Count::kPcieReceiveErrors},
      {Query({.command =
                  Format("lspci -vv -s {} | grep -e LnkSta -e CESta", port.device->pci_address()),
              .note = "Reseat the card, or try another slot or riser."})},
      out);
}

void EvaluatePcie(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgePcie(port, out); });
}

// A stalled second: credits of PCIe were missing for more than 30 percent of it.
constexpr double kStalledPercentMax = 50;  // Of the seconds; our choice
constexpr std::uint64_t kStallsMin = 10;

void JudgeStalls(const PortView& port, Verdicts& out) {
  const auto reads = LinkIncreaseOf(port, Count::kPcieReadStalls);
  const auto writes = LinkIncreaseOf(port, Count::kPcieWriteStalls);
  if (!reads || !writes) return;
  const bool of_reads = reads->delta >= writes->delta;
  const CounterIncrease& most = of_reads ? *reads : *writes;
  const bool of_profile = port.expected().has_pcie_stalled_max_percent();
  const double limit = of_profile ? port.expected().pcie_stalled_max_percent() : kStalledPercentMax;
  const double percent = std::min(100.0, 100 * most.PerSecond());
  if (percent <= limit || most.delta < kStallsMin) return out.Pass();
  const std::string expected = Format("at most {:.3g} % of the time", limit);
  const std::string seen = Format("{:.0f} % of {}", percent, ShowSeconds(most.seconds));
  FailOnCounter(
      port,
      {.title = Format("PCIe {} of the card were stalled for {}, expected {}",
                       of_reads ? "reads" : "writes", seen, expected),
       .expected = expected,
       .seen = seen,
       .count = of_reads ? Count::kPcieReadStalls : Count::kPcieWriteStalls,
       .basis = of_profile ? ProfileBasis(*port.expectation) : "rule"},
      {Query({.command = Format("ethtool -S {} | grep outbound_pci", WireName(port)),
              .note = "The host answers the card too slowly. Check width and speed of the PCIe "
                      "link, the maximum read request, the IOMMU, and memory of another socket."})},
      out);
}

void EvaluateStalls(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeStalls(port, out); });
}

// Error registers whose saturation leaves a rule without a rate.
constexpr std::string_view kErrorRegisters[] = {
    "symbol_errors", "link_error_recoveries",       "link_down_events",
    "rx_errors",     "local_link_integrity_errors", "buffer_overrun_errors",
    "tx_discards",   "rx_constraint_errors",        "tx_constraint_errors"};

bool IsErrorRegister(const v1::Counter& counter) {
  return std::find(std::begin(kErrorRegisters), std::end(kErrorRegisters), counter.neutral()) !=
         std::end(kErrorRegisters);
}

v1::Remedy ResetRegisters(const PortView& port) {
  constexpr std::string_view kNote = "Other programs that read the counters see the reset.";
  const bool mlx5 = DriverOf(port).starts_with("mlx5") && port.device->has_pci_address();
  if (!IsInfiniband(port) && !mlx5)
    return Advice("Reset the counters of the port with the tool of its vendor.");
  return Change({.platform = IsInfiniband(port) ? "any" : "mlx5",
                 .command = IsInfiniband(port)
                                ? Format("perfquery {} -R", ThroughPort(port))
                                : Format("mlxlink -d {} -p {} --pc", port.device->pci_address(),
                                         port.port->number()),
                 .affects = v1::REMEDY_REACH_PORT,
                 .interrupts = kInterruptsNothing,
                 .lasts = Permanently(),
                 .undo = "Nothing to undo: the counters start at 0 again",
                 .note = std::string(kNote)});
}

void FailSaturated(const PortView& port, const std::vector<const v1::Counter*>& saturated,
                   Verdicts& out) {
  std::vector<std::string> names;
  std::vector<v1::Evidence> evidence;
  for (const v1::Counter* const counter : saturated) {
    names.push_back(counter->name());
    evidence.push_back(
        ToEvidence(*port.node, {.what = Format("register {}", counter->name()),
                                .expected = "below its maximum",
                                .seen = Format("{}, its maximum", counter->value()),
                                .source = PortFile(port, Format("counters/{}", counter->name())),
                                .basis = "rule"}));
  }
  out.Fail(port.Subject(),
           Format("{} at the maximum, expected registers that count: further errors are not "
                  "visible",
                  Listed(names)),
           std::move(evidence), {ResetRegisters(port)});
}

void JudgeSaturated(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail || port.expected().unused() || port.counters[0] == fleet::kNoCounters) continue;
    std::vector<const v1::Counter*> saturated;
    const v1::CounterSet& set = node.node->snapshot.counters(port.counters[0]);
    for (const v1::Counter& counter : set.counters())
      if (counter.saturated() && IsErrorRegister(counter)) saturated.push_back(&counter);
    if (saturated.empty())
      out.Pass();
    else
      FailSaturated(port, saturated, out);
  }
}

}  // namespace

extern const Rule link_errors_within_limit = {
    .id = "link_errors_within_limit",
    .title = "A link has no more errors than its specification allows",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Dirty or bent fibres, bad modules and loose cables cause symbol and checksum errors long "
        "before the link fails. Each error is a lost packet that RDMA sends again: jobs become "
        "slow although all settings are right.",
    .source =
        "InfiniBand specification, bit error rate 1e-12: 10 symbol errors within five minutes; "
        "infiniband-diags etc/error_thresholds; IEEE 802.3, frame loss ratio with RS-FEC",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kSymbolErrorsMaxPerHourFieldNumber,
                v1::Expectations::kBerMaxFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink},
              {.field = Field::kLinkRate,
               .applies = IsHardwareLink,
               .profile = v1::Expectations::kBerMaxFieldNumber}},
    .fix = "Clean, reseat or replace cable and module",
    .evaluate_node = EvaluateErrors,
};

extern const Rule link_stays_up = {
    .id = "link_stays_up",
    .title = "The link of a port in use does not go down and up",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each time, the queue pairs of running jobs fail or wait for seconds, and RoCE registers "
        "its GIDs again, possibly in another order. Between two flaps every other check passes. "
        "Once is maintenance; twice within an hour is not.",
    .source = "IBTA LinkDownedCounter; kernel sysfs-class-net (carrier_down_count)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Reseat or replace cable and module",
    .evaluate_node = EvaluateFlaps,
};

extern const Rule error_registers_count = {
    .id = "error_registers_count",
    .title = "No error register of a port is at its maximum",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "The error registers of InfiniBand have 4, 8 or 16 bits and stay at their maximum. From "
        "then on the rules on link errors see no increase, so that a bad link looks good.",
    .source =
        "InfiniBand specification, PortCounters; kernel drivers/infiniband/core/sysfs.c "
        "(PORT_PMA_ATTR)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "perfquery -C DEVICE -P PORT -R",
    .evaluate_node = JudgeSaturated,
};

extern const Rule pcie_not_stalled = {
    .id = "pcie_not_stalled",
    .title = "A card does not wait for PCIe most of the time",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The card counts the seconds in which it lacked PCIe credits for more than 30 percent of "
        "the time. If that happens all the time, the host is slower than the link: the card "
        "pauses the switch or drops packets, and the whole job waits for this node.",
    .source =
        "kernel mlx5/core/en_stats.c (outbound_pci_stalled_rd_events, "
        "outbound_pci_stalled_wr_events); the limit is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kPcieStalledMaxPercentFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Check PCIe link, IOMMU and memory of the host",
    .evaluate_node = EvaluateStalls,
};

extern const Rule pcie_link_without_errors = {
    .id = "pcie_link_without_errors",
    .title = "The PCIe link of a card does not retrain because of errors",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "While the link retrains, no data passes between card and host, and the card pauses the "
        "switch or drops packets. The next step is a link with fewer lanes.",
    .source = "kernel mlx5/core/en_stats.c (rx_pci_signal_integrity, tx_pci_signal_integrity)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
    .fix = "Reseat the card or its riser",
    .evaluate_node = EvaluatePcie,
};

}  // namespace fabric::rules
