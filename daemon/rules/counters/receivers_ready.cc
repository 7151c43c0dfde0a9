#include "base/text.h"
#include "daemon/rules/counters/moving.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 100'000;
constexpr double kMaxPercent = 1;  // Our choice: applications that poll late make far fewer.

void JudgePort(const PortView& port, Verdicts& out) {
  const auto naks = Moved(port, Count::kRnrNaksReceived);
  const auto sent = Moved(port, Count::kTransmittedPackets);
  if (!naks || !sent || sent->delta < kPacketsMin) return;
  const double percent = 100 * static_cast<double>(naks->delta) / static_cast<double>(sent->delta);
  if (percent <= kMaxPercent) return out.Pass();
  const std::string seen = Format("{} of {} packets", naks->delta, sent->delta);
  FailMoving(port,
             {.title = Format("peers were not ready to receive {:.2g} % of the packets ({}), "
                              "expected at most {:.2g} %",
                              percent, seen, kMaxPercent),
              .expected = Format("at most {:.2g} %", kMaxPercent),
              .seen = seen,
              .count = Count::kRnrNaksReceived},
             {ToRemedy({.command = Format("rdma statistic show link {}/{}", port.device->name(),
                                          port.port->number()),
                        .note = "No fault of the fabric: the receiving application posts too few "
                                "receives, or its processes do not get to run."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule receivers_ready = {
    .id = "receivers_ready",
    .title = "Peers have receives posted when messages come",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "A receiver that is not ready makes the sender wait and try again; it looks like a slow "
        "network and is a slow application.",
    .source = "kernel hw/mlx5/counters.c (rnr_nak_retry_err); the limit is our choice",
    .needs = {Input::kCounters},
    .fix = "The application: more receives, processors that are not taken away",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
