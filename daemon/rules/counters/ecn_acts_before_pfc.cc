#include "base/text.h"
#include "daemon/rules/counters/pauses.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 100'000;

// Without a profile nobody knows whether the switches are meant to mark. CNPs that come and are
// ignored are cnps_obeyed's.
void JudgePort(const PortView& port, Verdicts& out) {
  if (!port.expected().ecn() || !CarriesRoce(port)) return;
  const auto paused = PauseReceived(port);
  const auto handled = Moved(port, Count::kCnpsHandled);
  const auto sent = Moved(port, Count::kTransmittedPackets);
  if (!paused || !handled || !sent || sent->delta < kPacketsMin) return;
  const bool acted = handled->delta > 0 || Delta(port, Count::kCnpsIgnored) > 0;
  if (acted || paused->percent <= PauseLimitOf(port).percent) return out.Pass();
  const std::string seen = Format("none in {}, paused for {:.1f} % of it",
                                  ShowSeconds(handled->seconds), paused->percent);
  FailMoving(port,
             {.title = Format("congestion notifications: {}, expected ECN to act before PFC "
                              "(profile {})",
                              seen, port.expectation->profile),
              .expected = "congestion notifications before pauses",
              .seen = seen,
              .count = Count::kCnpsHandled,
              .basis = ProfileBasis(*port.expectation)},
             {ToRemedy({.command = "fabricctl findings --rule ecn_notified_on_data_priority",
                        .note = "Whether the receivers answer marks. If they do, nothing is "
                                "marked: ECN on the switches' queue of the data priority, with a "
                                "threshold below that of PFC (xoff)."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule ecn_acts_before_pfc = {
    .id = "ecn_acts_before_pfc",
    .title = "Where the profile wants ECN, senders are told to slow down before they are paused",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "PFC is there for the moment that congestion control needs to act. A sender that is "
        "paused for long and is sent no congestion notification meets switches that do not mark, "
        "or mark above the threshold of PFC: PFC alone carries the load, and pauses spread.",
    .source =
        "IEEE 802.1Qau, 802.1Qbb; DCQCN: ECN thresholds below those of PFC; kernel "
        "hw/mlx5/counters.c (rp_cnp_handled)",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kEcnFieldNumber, v1::Expectations::kPauseMaxPercentFieldNumber},
    .fix = "ECN on the switches' queue of the data priority, below the threshold of PFC",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
