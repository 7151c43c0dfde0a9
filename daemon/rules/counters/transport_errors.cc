// Errors of the RDMA transport: timeouts, negative acknowledgements, bad checksums.
#include "base/text.h"
#include "daemon/rules/counters/link_errors.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/lossless/lossless.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// When a job is killed, its remaining peers run into timeouts for a few seconds, once.
constexpr double kTimeoutsPerSecond = 10;

// Percentages need at least this many packets.
constexpr std::uint64_t kSentMin = 100'000;
// Lossy RoCE works with a loss of one in a thousand; with PFC there should be none. The limits are
// ten times the usual values, our choice.
constexpr double kLossyPercent = 1;
constexpr double kLosslessPercent = 0.1;
constexpr double kNotReadyPercent = 1;  // Our choice: applications that poll late cause far fewer.

constexpr std::uint64_t kBadPacketsMin = 10;

void JudgeTimeouts(const PortView& port, Verdicts& out) {
  const auto timeouts = IncreaseOf(port, Count::kAckTimeouts);
  if (!timeouts || HasBadLink(port)) return;
  if (timeouts->PerSecond() < kTimeoutsPerSecond) return out.Pass();
  const std::string seen =
      Format("{} timeouts in {}, {} requests given up", timeouts->delta,
             ShowSeconds(timeouts->seconds), Delta(port, Count::kRetriesExceeded));
  FailOnCounter(
      port,
      {.title = Format("acknowledgements are missing: {}", seen),
       .expected = Format("fewer than {} timeouts a second", kTimeoutsPerSecond),
       .seen = seen,
       .count = Count::kAckTimeouts},
      {Query({.command = RdmaStatistic(port),
              .note = Format("Then find the peer that does not answer: fabricctl probe run --kind "
                             "latency --nodes {}, with the other nodes of the job. Check the path "
                             "to it: drops on switches, MTU, routes between rails, PFC on all "
                             "hops.",
                             port.node->name)})},
      out);
}

void EvaluateTimeouts(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeTimeouts(port, out); });
}

// Negative acknowledgements, not packets out of order: with adaptive routing those are not lost.
double SequenceLimit(const PortView& port) {
  return port.expected().lossless() ? kLosslessPercent : kLossyPercent;
}

void JudgeSequence(const PortView& port, Verdicts& out) {
  const auto naks = IncreaseOf(port, Count::kSequenceNaksReceived);
  const auto sent = IncreaseOf(port, Count::kTransmittedPackets);
  if (!naks || !sent || sent->delta < kSentMin || HasBadLink(port)) return;
  const double percent = PercentOf(*naks, *sent);
  const double limit = SequenceLimit(port);
  if (percent <= limit) return out.Pass();
  const std::string seen = Format("{} of {} packets", naks->delta, sent->delta);
  FailOnCounter(
      port,
      {.title = Format("peers missed {:.2g} % of the packets sent ({}), expected at most {:.2g} %",
                       percent, seen, limit),
       .expected = Format("at most {:.2g} %", limit),
       .seen = seen,
       .count = Count::kSequenceNaksReceived,
       .basis = port.expected().has_lossless() ? ProfileBasis(*port.expectation) : "rule"},
      {Query({.command = RdmaStatistic(port),
              .note = "The packets are lost on the path. Check discards on switch ports and on "
                      "the receivers' cards, and PFC on each hop where RoCE is lossless."})},
      out);
}

void EvaluateSequence(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeSequence(port, out); });
}

void JudgeReady(const PortView& port, Verdicts& out) {
  const auto naks = IncreaseOf(port, Count::kRnrNaksReceived);
  const auto sent = IncreaseOf(port, Count::kTransmittedPackets);
  if (!naks || !sent || sent->delta < kSentMin) return;
  const double percent = PercentOf(*naks, *sent);
  if (percent <= kNotReadyPercent) return out.Pass();
  const std::string seen = Format("{} of {} packets", naks->delta, sent->delta);
  FailOnCounter(port,
                {.title = Format("peers were not ready to receive {:.2g} % of the packets ({}), "
                                 "expected at most {:.2g} %",
                                 percent, seen, kNotReadyPercent),
                 .expected = Format("at most {:.2g} %", kNotReadyPercent),
                 .seen = seen,
                 .count = Count::kRnrNaksReceived},
                {Query({.command = RdmaStatistic(port),
                        .note = "Not a fault of the fabric: the receiving application posts too "
                                "few receives, or its processes get too little CPU time."})},
                out);
}

void EvaluateReady(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeReady(port, out); });
}

// Retransmissions that packets_in_sequence and acknowledgements_in_time do not report. A path that
// changes, or a job that is killed, causes a few.
constexpr std::uint64_t kRetransmissionsMin = 100;

void JudgeAdaptive(const PortView& port, Verdicts& out) {
  const auto again =
      CarriesRoce(port) ? IncreaseOf(port, Count::kAdaptiveRetransmissions) : std::nullopt;
  const auto sent = IncreaseOf(port, Count::kTransmittedPackets);
  if (!port.expected().lossless() || !again || !sent || HasBadLink(port)) return;
  const auto naks = IncreaseOf(port, Count::kSequenceNaksReceived);
  const auto timeouts = IncreaseOf(port, Count::kAckTimeouts);
  const bool reported =
      (naks && sent->delta >= kSentMin && PercentOf(*naks, *sent) > SequenceLimit(port)) ||
      (timeouts && timeouts->PerSecond() >= kTimeoutsPerSecond);
  if (reported) return;
  if (again->delta < kRetransmissionsMin) return out.Pass();
  const std::string seen = Format("{} in {}", again->delta, ShowSeconds(again->seconds));
  FailOnCounter(port,
                {.title = Format("the card sent packets again on its own account {}, expected "
                                 "fewer than {} on a lossless fabric (profile {})",
                                 seen, kRetransmissionsMin, port.expectation->profile),
                 .expected = Format("fewer than {}", kRetransmissionsMin),
                 .seen = seen,
                 .count = Count::kAdaptiveRetransmissions,
                 .basis = ProfileBasis(*port.expectation)},
                {Query({.command = RdmaStatistic(port),
                        .note = "Packets are lost although PFC should prevent it. Check discards "
                                "on switch ports and PFC on each hop of the path."})},
                out);
}

void EvaluateAdaptive(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeAdaptive(port, out); });
}

void JudgePosted(const PortView& port, Verdicts& out) {
  const auto dropped = IncreaseOf(port, Count::kOutOfBuffer);
  const auto received = IncreaseOf(port, Count::kReceivedPackets);
  if (!dropped || !received || received->delta < kSentMin) return;
  const double percent = PercentOf(*dropped, *received);
  if (percent <= kNotReadyPercent) return out.Pass();
  const std::string seen = Format("{} of {} packets", dropped->delta, received->delta);
  FailOnCounter(port,
                {.title = Format("{:.2g} % of the packets received found no receive posted ({}), "
                                 "expected at most {:.2g} %",
                                 percent, seen, kNotReadyPercent),
                 .expected = Format("at most {:.2g} %", kNotReadyPercent),
                 .seen = seen,
                 .count = Count::kOutOfBuffer},
                {Query({.command = RdmaStatistic(port),
                        .note = "Not a fault of the fabric: the application on this node posts "
                                "too few receives, or its processes get too little CPU time."})},
                out);
}

void EvaluatePosted(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgePosted(port, out); });
}

void JudgeGivenUp(const PortView& port, Verdicts& out) {
  const auto given_up = IncreaseOf(port, Count::kRnrRetriesExceeded);
  if (!given_up) return;
  if (given_up->delta == 0) return out.Pass();
  const std::string seen = Format("{} in {}", given_up->delta, ShowSeconds(given_up->seconds));
  FailOnCounter(
      port,
      {.title =
           Format("requests given up because the receiver was not ready: {}, expected none", seen),
       .expected = "none",
       .seen = seen,
       .count = Count::kRnrRetriesExceeded},
      {Query({.command = RdmaStatistic(port),
              .note = "A connection of a job failed (IBV_WC_RNR_RETRY_EXC_ERR, status 13). The "
                      "receiving process hangs, ended, or posts too few receives: look at the "
                      "log of the job on the peer."})},
      out);
}

void EvaluateGivenUp(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeGivenUp(port, out); });
}

void JudgeChecksums(const PortView& port, Verdicts& out) {
  const auto bad = CarriesRoce(port) ? IncreaseOf(port, Count::kIcrcErrors) : std::nullopt;
  if (!bad || HasBadLink(port)) return;
  if (bad->delta < kBadPacketsMin) return out.Pass();
  const std::string seen = Format("{} packets in {}", bad->delta, ShowSeconds(bad->seconds));
  FailOnCounter(port,
                {.title = "RoCE packets with a bad invariant checksum: " + seen + ", expected none",
                 .expected = "none",
                 .seen = seen,
                 .count = Count::kIcrcErrors},
                {Query({.command = RdmaStatistic(port),
                        .note = "The link is good, so a device on the path changes fields that "
                                "it must not change: a switch or tunnel that rewrites headers, "
                                "or bad memory in a switch."})},
                out);
}

void EvaluateChecksums(const fleet::NodeView& node, Verdicts& out) {
  ForPortsWithRates(node, [&](const PortView& port) { JudgeChecksums(port, out); });
}

}  // namespace

extern const Rule acknowledgements_in_time = {
    .id = "acknowledgements_in_time",
    .title = "RDMA acknowledgements arrive before the timer expires",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Each timeout stalls a queue pair for milliseconds to seconds; after seven the work "
        "request fails (IBV_WC_RETRY_EXC_ERR, status 12) and the job with it. The path is dead, or "
        "loses packets without a negative acknowledgement.",
    .source = "kernel hw/mlx5/counters.c (local_ack_timeout_err, req_transport_retries_exceeded)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Find the path that loses packets",
    .evaluate_node = EvaluateTimeouts,
};

extern const Rule packets_in_sequence = {
    .id = "packets_in_sequence",
    .title = "Peers miss few of the packets that a port sends",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "After each gap the sender goes back and sends everything from there again. Lossy RoCE is "
        "designed for a loss of one packet in a thousand; ten times more takes most of the "
        "bandwidth.",
    .source = "kernel hw/mlx5/counters.c (packet_seq_err); the limits are our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kLosslessFieldNumber},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Find where packets are dropped",
    .evaluate_node = EvaluateSequence,
};

extern const Rule receivers_ready = {
    .id = "receivers_ready",
    .title = "Peers have receives posted when messages arrive",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "A receiver that is not ready makes the sender wait and try again. The symptom "
        "looks like a slow network; the cause is a slow application.",
    .source = "kernel hw/mlx5/counters.c (rnr_nak_retry_err); the limit is our choice",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Change the application: more receives, dedicated processors",
    .evaluate_node = EvaluateReady,
};

extern const Rule lossless_without_retransmissions = {
    .id = "lossless_without_retransmissions",
    .title = "If the profile says lossless, cards do not send packets again",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Cards with adaptive retransmission hide loss from the application: transfers complete "
        "late, without timeouts. On a fabric with PFC each one means a drop on the path.",
    .source = "kernel hw/mlx5/counters.c (roce_adp_retrans); the limit is our choice",
    .needs = {Input::kCounters},
    .profile = {v1::Expectations::kLosslessFieldNumber},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Find where packets are dropped",
    .evaluate_node = EvaluateAdaptive,
};

extern const Rule receives_posted = {
    .id = "receives_posted",
    .title = "Packets that arrive find a receive posted",
    .severity = v1::SEVERITY_INFO,
    .scope = v1::SCOPE_PORT,
    .why =
        "The card drops a packet without a posted receive, or answers that the receiver is not "
        "ready. The senders wait and try again. The symptom looks like a slow network; the "
        "cause is a slow application on this node.",
    .source = "kernel hw/mlx5/counters.c (out_of_buffer); the limit is our choice",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Change the application: more receives, dedicated processors",
    .evaluate_node = EvaluatePosted,
};

extern const Rule receivers_answer = {
    .id = "receivers_answer",
    .title = "No request is given up because its receiver is not ready",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "After all retries the work request fails with IBV_WC_RNR_RETRY_EXC_ERR (status 13), and "
        "the job with it. The fabric delivered the request; the receiving process hangs or ended.",
    .source = "kernel hw/mlx5/counters.c (req_rnr_retries_exceeded)",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Look at the receiving process of the job",
    .evaluate_node = EvaluateGivenUp,
};

extern const Rule roce_packets_intact = {
    .id = "roce_packets_intact",
    .title = "RoCE packets arrive with a correct invariant checksum",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "The checksum covers the fields that must not change between two hosts. Links drop frames "
        "that they damage, so a device on the path rewrites or damages packets.",
    .source = "InfiniBand specification, annex 17 (RoCE v2), ICRC; rx_icrc_encapsulated",
    .needs = {Input::kCounters},
    .reads = {{.field = Field::kTransportCounters, .applies = IsRoceInUse}},
    .fix = "Check switches and tunnels on the path",
    .evaluate_node = EvaluateChecksums,
};

}  // namespace fabric::rules
