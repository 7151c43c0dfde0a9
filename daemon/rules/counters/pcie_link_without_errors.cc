#include "base/text.h"
#include "daemon/rules/counters/moving.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kErrorsMax = 10;  // Within an hour

void JudgePort(const PortView& port, Verdicts& out) {
  const auto received = MovedOnLink(port, Count::kPcieReceiveErrors);
  if (!received) return;
  const auto sent = MovedOnLink(port, Count::kPcieTransmitErrors);
  const bool by_sent = sent && sent->delta > received->delta;
  const CounterIncrease& most = by_sent ? *sent : *received;
  if (PerHour(most) <= kErrorsMax) return out.Pass();
  const std::string seen = Format("{} times in {}", most.delta, ShowSeconds(most.seconds));
  FailMoving(port,
             {.title = Format("PCIe link of the card retrained because of errors {}, expected at "
                              "most {} an hour",
                              seen, kErrorsMax),
              .expected = Format("at most {} an hour", kErrorsMax),
              .seen = seen,
              .count = by_sent ? Count::kPcieTransmitErrors : Count::kPcieReceiveErrors},
             {ToRemedy({.command = Format("lspci -vv -s {} | grep -e LnkSta -e CESta",
                                          port.device->pci_address()),
                        .interrupts_traffic = true,
                        .note = "Reseat the card, or try another slot or riser."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule pcie_link_without_errors = {
    .id = "pcie_link_without_errors",
    .title = "The PCIe link of a card does not retrain because of errors",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each time nothing passes between card and host for a while, the card pauses the switch "
        "or drops, and the next step is a link of fewer lanes.",
    .source = "kernel mlx5/core/en_stats.c (rx_pci_signal_integrity, tx_pci_signal_integrity)",
    .needs = "counters",
    .fix = "Reseat the card or its riser",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
