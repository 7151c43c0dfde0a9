// Links that have errors, go down, or retrain.
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
    if (LinkIncreaseOf(port, Count::kSymbolErrors) || LinkIncreaseOf(port, Count::kFcsErrors))
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
        "infiniband-diags etc/error_thresholds",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kSymbolErrorsMaxPerHourFieldNumber},
    .reads = {{.field = Field::kLinkCounters, .applies = IsHardwareLink}},
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
