#include <algorithm>

#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

constexpr std::uint64_t kPacketsMin = 100'000;
// Lossy RoCE lives with one packet in a thousand; PFC should leave none. Both are our choice, ten
// times what is usual.
constexpr double kLossyPercent = 1;
constexpr double kLosslessPercent = 0.1;

double LimitOf(const PortView& port) {
  if (port.expected().has_lossless())
    return port.expected().lossless() ? kLosslessPercent : kLossyPercent;
  return kLossyPercent;
}

// Negative acknowledgements, not packets out of order: with adaptive routing those are no loss.
void JudgePort(const PortView& port, Verdicts& out) {
  const auto naks = Moved(port, Count::kSequenceNaksReceived);
  const auto sent = Moved(port, Count::kTransmittedPackets);
  if (!naks || !sent || sent->delta < kPacketsMin || HasBadLink(port)) return;
  const double percent = 100 * static_cast<double>(naks->delta) / static_cast<double>(sent->delta);
  const double limit = LimitOf(port);
  if (percent <= limit) return out.Pass();
  const std::string seen = Format("{} of {} packets", naks->delta, sent->delta);
  FailMoving(port,
             {.title = Format("peers missed {:.2g} % of the packets sent ({}), expected at most "
                              "{:.2g} %",
                              percent, seen, limit),
              .expected = Format("at most {:.2g} %", limit),
              .seen = seen,
              .count = Count::kSequenceNaksReceived,
              .basis = port.expected().has_lossless() ? ProfileBasis(*port.expectation) : "rule"},
             {ToRemedy({.command = Format("rdma statistic show link {}/{}", port.device->name(),
                                          port.port->number()),
                        .note = "Lost on the way: discards on switch ports and on the receivers' "
                                "cards; PFC on each hop where RoCE is lossless."})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule packets_in_sequence = {
    .id = "packets_in_sequence",
    .title = "Peers miss few of the packets that a port sends",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each gap makes the sender go back and send all again from there. Lossy RoCE is made for "
        "one packet in a thousand; ten times as many take most of the bandwidth.",
    .source = "kernel hw/mlx5/counters.c (packet_seq_err); the limits are our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kLosslessFieldNumber},
    .fix = "Find where packets are dropped",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
