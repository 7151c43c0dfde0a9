#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::vector<v1::Remedy> Remedies(const PortView& port) {
  const v1::Remedy swap =
      ToRemedy({.command = port.port->link_layer() == v1::LINK_LAYER_INFINIBAND
                               ? Format("perfquery -x {} {}", port.port->lid(), port.port->number())
                               : Format("ethtool -m {}", WireName(port)),
                .note = "Clean and reseat the cable, then exchange cable or module, then the "
                        "switch port: the error goes with the part. Look at the other end too."});
  if (!DriverOf(port).starts_with("mlx5")) return {swap};
  return {swap, ToRemedy({.platform = "mlx5",
                          .command = Format("mlxlink -d {} -c", port.device->pci_address()),
                          .note = "Bit error rates, eye and module of the link."})};
}

void JudgePort(const PortView& port, Verdicts& out) {
  const std::vector<LinkError> errors = LinkErrors(port);
  if (errors.empty()) {
    if (MovedOnLink(port, Count::kSymbolErrors) || MovedOnLink(port, Count::kFcsErrors)) out.Pass();
    return;
  }
  std::vector<std::string> seen;
  std::vector<v1::Evidence> evidence;
  for (const LinkError& error : errors) {
    seen.push_back(Format("{} {} in {}, expected at most {} an hour", error.move.delta,
                          fleet::NeutralName(error.count), ShowSeconds(error.move.seconds),
                          error.limit_per_hour));
    evidence.push_back(ToEvidence(
        port, {.title = {},
               .expected = Format("at most {} an hour", error.limit_per_hour),
               .seen = Format("{} in {}", error.move.delta, ShowSeconds(error.move.seconds)),
               .count = error.count,
               .basis = error.of_profile ? ProfileBasis(*port.expectation) : "specification"}));
  }
  out.Fail(port.Subject(), Join(seen, "; "), std::move(evidence), Remedies(port));
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule link_errors_within_limit = {
    .id = "link_errors_within_limit",
    .title = "A link has no more errors than its specification allows",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Dirty or bent fibres, bad modules and loose cables show as symbol and checksum errors "
        "long before the link fails. Each is a lost packet, which RDMA sends again: jobs become "
        "slow in ways that no setting explains.",
    .source =
        "InfiniBand specification, bit error rate 1e-12: 10 symbol errors within five minutes; "
        "infiniband-diags etc/error_thresholds",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kSymbolErrorsMaxPerHourFieldNumber},
    .fix = "Clean, reseat or exchange cable and module",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
