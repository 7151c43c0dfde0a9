#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// When a job is killed, peers that are still there run into timeouts for a few seconds, once.
constexpr double kTimeoutsPerSecond = 10;

void JudgePort(const PortView& port, Verdicts& out) {
  const auto timeouts = Moved(port, Count::kAckTimeouts);
  if (!timeouts || HasBadLink(port)) return;
  if (timeouts->PerSecond() < kTimeoutsPerSecond) return out.Pass();
  const std::uint64_t given_up = Delta(port, Count::kRetriesExceeded);
  const std::string seen = Format("{} timeouts in {}, {} requests given up", timeouts->delta,
                                  ShowSeconds(timeouts->seconds), given_up);
  FailMoving(port,
             {.title = Format("acknowledgements do not come: {}", seen),
              .expected = Format("fewer than {} timeouts a second", kTimeoutsPerSecond),
              .seen = seen,
              .count = Count::kAckTimeouts},
             {ToRemedy({.command = Format("fabricctl probe run --nodes {},PEER --kind latency",
                                          port.node->name),
                        .note = "Which peer does not answer. Then the path to it: drops on the "
                                "switches, MTU, routes between rails, PFC on all hops."}),
              ToRemedy({.command = Format("rdma statistic show link {}/{}", port.device->name(),
                                          port.port->number())})},
             out);
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  ForMoving(node, [&](const PortView& port) { JudgePort(port, out); });
}

}  // namespace

extern const Rule acknowledgements_in_time = {
    .id = "acknowledgements_in_time",
    .title = "Acknowledgements of RDMA come before the timer runs out",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each timeout stalls a queue pair for milliseconds to seconds; after seven the work "
        "request fails (IBV_WC_RETRY_EXC_ERR, status 12) and the job with it. A path loses "
        "packets in a way that no negative acknowledgement tells, or is dead.",
    .source = "kernel hw/mlx5/counters.c (local_ack_timeout_err, req_transport_retries_exceeded)",
    .needs = {Input::kCounters},
    .fix = "Find the path that loses packets",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
