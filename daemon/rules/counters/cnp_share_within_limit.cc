#include "base/text.h"
#include "daemon/rules/counters/moving.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 1'000'000;

// How many are usual depends on the fabric and the job: judged only where a profile says.
void JudgePort(const PortView& port, Verdicts& out) {
  if (!CarriesRoce(port) || !port.expected().has_cnp_max_percent()) return;
  const auto handled = Moved(port, Count::kCnpsHandled);
  const auto sent = Moved(port, Count::kTransmittedPackets);
  if (!handled || !sent || sent->delta < kPacketsMin) return;
  const double percent =
      100 * static_cast<double>(handled->delta) / static_cast<double>(sent->delta);
  const double limit = port.expected().cnp_max_percent();
  if (percent <= limit) return out.Pass();
  FailMoving(port,
             {.title = Format("congestion notifications for {:.2g} % of the packets sent, expected "
                              "at most {:.3g} % (profile {})",
                              percent, limit, port.expectation->profile),
              .expected = Format("at most {:.3g} %", limit),
              .seen = Format("{} of {} packets", handled->delta, sent->delta),
              .count = Count::kCnpsHandled,
              .basis = ProfileBasis(*port.expectation)},
             {ToRemedy({.command = "fabricctl findings --rule rail_on_expected_leaf",
                        .note = "Persistent congestion: several flows hashed onto one uplink, "
                                "rails on wrong leaves, many senders to one port."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule cnp_share_within_limit = {
    .id = "cnp_share_within_limit",
    .title = "Congestion notifications are no larger part of the packets than the profile says",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A port that is told to slow down all the time shares a bottleneck: its flows were hashed "
        "onto one uplink, or the job sends crosswise over the spines.",
    .source = "kernel hw/mlx5/counters.c (rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kCnpMaxPercentFieldNumber},
    .fix = "Load balancing of the switches; rails",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
