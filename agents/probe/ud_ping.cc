// Pings by unreliable datagrams, each with an answer and a report: network round trip, delays of
// both hosts, and losses.
#include <array>
#include <optional>

#include "agents/probe/ping/ping_message.h"
#include "agents/probe/ping/ping_responder.h"
#include "agents/probe/ping/ping_statistics.h"
#include "agents/probe/polling.h"
#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "base/text.h"
#include "proto/probe_kinds.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kPingsMax = 100'000;
constexpr std::uint32_t kIntervalMaxUs = 1'000'000;
constexpr std::uint32_t kAnswerWithinMaxMs = 60'000;
constexpr std::uint32_t kFlowsMax = 256;
// An answer within this multiple of answer_within means that a host was late, not that the network
// lost a ping. Bounded, because it delays the detection of a dead partner.
constexpr int kReportTimes = 4;
constexpr Duration kReportMax = std::chrono::seconds(2);
// Maximum number of further pings that ask for a report. With those under way they fit the queues
// below.
constexpr int kAsksMax = 16;
// Maximum number of pings under way: they fit the receives below, whichever end is slow.
constexpr std::uint32_t kAwaitedMax = 32;
constexpr std::uint32_t kSends = 2 * kAwaitedMax;
constexpr std::uint32_t kUdPingReceives = 4 * kAwaitedMax;

struct UdPingPlan {
  std::uint32_t message_bytes;
  std::uint32_t pings;
  Duration interval;
  Duration answer_within;
  Duration report_within;
  std::uint32_t flows;

  explicit UdPingPlan(const v1::ProbeSpec& spec) {
    const v1::UdPing& wanted = spec.ud_ping();
    message_bytes = NumberOf(wanted, "message_bytes");
    pings = NumberOf(wanted, "pings");
    interval = std::chrono::microseconds(NumberOf(wanted, "interval_us"));
    answer_within = std::chrono::milliseconds(NumberOf(wanted, "answer_within_ms"));
    report_within = std::min(kReportTimes * answer_within, kReportMax);
    flows =
        wanted.flow_labels().empty() ? 1 : static_cast<std::uint32_t>(wanted.flow_labels_size());
  }
};

Status CheckUdPing(const v1::ProbeSpec& spec) {
  const v1::UdPing& wanted = spec.ud_ping();
  RETURN_IF_ERROR(CheckCommon(spec));
  RETURN_IF_ERROR(
      CheckBound({"message_bytes", UdPingPlan(spec).message_bytes, kPingBytesMin, kPathMtuMax}));
  RETURN_IF_ERROR(CheckBound({"pings", wanted.pings(), 0, kPingsMax}));
  RETURN_IF_ERROR(CheckBound({"interval_us", wanted.interval_us(), 0, kIntervalMaxUs}));
  RETURN_IF_ERROR(
      CheckBound({"answer_within_ms", wanted.answer_within_ms(), 0, kAnswerWithinMaxMs}));
  RETURN_IF_ERROR(CheckBound({"flow_labels", UdPingPlan(spec).flows, 1, kFlowsMax}));
  for (const std::uint32_t label : wanted.flow_labels())
    RETURN_IF_ERROR(CheckBound({"flow_labels", label, 0, kFlowLabelMax}));
  return {};
}

ProbeNeeds NeedsUdPing(const v1::ProbeSpec& spec) {
  const UdPingPlan plan(spec);
  return host::UdOptions{.flows = plan.flows,
                         .payload_bytes_max = plan.message_bytes,
                         .sends_max = kSends,
                         .receives_max = kUdPingReceives};
}

// Path n of both ends belongs to flow n.
Status AddPaths(ProbeRun& run, const UdPingPlan& plan) {
  for (std::uint32_t flow = 0; flow < plan.flows; ++flow) {
    const auto& labels = run.spec.ud_ping().flow_labels();
    const std::uint32_t label =
        labels.empty() ? run.settings.flow_label : labels[static_cast<int>(flow)];
    RETURN_IF_ERROR(run.datagrams
                        ->AddPath(run.remote, {.flow = flow,
                                               .service_level = run.settings.service_level,
                                               .flow_label = label,
                                               .traffic_class = run.settings.traffic_class})
                        .status());
  }
  // The driver may have slept while resolving the partner's address: not a stall of this end.
  run.pause(Duration::zero());
  return {};
}

class Pinging {
 public:
  explicit Pinging(ProbeRun& run)
      : run_(run),
        plan_(run.spec),
        session_(std::uint64_t{run.datagrams->local().queue_key} << 32 |
                 run.datagrams->local().queue_pairs.front().number),
        statistics_(
            {.flows = plan_.flows,
             .answer_within = plan_.answer_within,
             .report_within = plan_.report_within,
             .hardware_clock = run.datagrams->hardware_clock(),
             .elapsed = [&run](std::uint64_t from,
                               std::uint64_t to) { return run.datagrams->Elapsed(from, to); }}),
        bytes_(plan_.message_bytes) {}

  Status Run() {
    if (plan_.message_bytes > run_.settings.path_mtu_bytes)
      return {Code::kFailedPrecondition,
              Format("a datagram of {} bytes does not fit into the path MTU of {}",
                     plan_.message_bytes, run_.settings.path_mtu_bytes)};
    RETURN_IF_ERROR(AddPaths(run_, plan_));
    SteadyTime now = run_.clock.Now().steady;
    next_at_ = now;
    Pace pace(run_, now);
    while (posted_ < plan_.pings || statistics_.awaited() > 0) {
      RETURN_IF_ERROR(posted_ < plan_.pings ? SendDue(now) : AskDue(now));
      ASSIGN_OR_RETURN(const std::size_t count, run_.datagrams->Poll(found_));
      now = run_.clock.Now().steady;
      if (now - pace.looked_at() > plan_.answer_within / 4) statistics_.MarkUnreliable();
      if (count > 0) {
        const bool late = late_filter_.IsLate(now - pace.looked_at());
        for (const host::Datagram& datagram : std::span(found_).first(count))
          RETURN_IF_ERROR(Take(datagram, now, late));
        pace.Found(now);
      } else {
        statistics_.Expire(now);  // Only when nothing waits to be seen.
      }
      if (count > 0 ? run_.stopped() : !pace.Next())
        return {Code::kDeadlineExceeded, Format("{} of {} pings were sent, {} answered", posted_,
                                                plan_.pings, statistics_.answered())};
    }
    return {};
  }

  Late late() const { return statistics_.late(); }
  v1::PingSummary Summary() const {
    v1::PingSummary summary = statistics_.Summary();
    const auto& labels = run_.spec.ud_ping().flow_labels();
    for (int n = 0; n < summary.flows_size(); ++n)
      summary.mutable_flows(n)->set_flow_label(labels.empty() ? run_.settings.flow_label
                                                              : labels[n]);
    summary.set_queue_pair_per_flow(run_.datagrams->queue_pair_per_flow());
    return summary;
  }

 private:
  // Sends a ping when due, unless too many are under way.
  Status SendDue(SteadyTime now) {
    if (now < next_at_ || statistics_.under_way() >= kAwaitedMax) return {};
    const std::uint32_t flow = posted_ % plan_.flows;
    const std::uint32_t sequence = statistics_.Post(flow, run_.clock.Now().steady);
    ++posted_;
    next_at_ = std::max(next_at_ + plan_.interval, now);
    return Send(flow, sequence);
  }

  // The partner's next answer reports whether unanswered pings arrived. After the last ping,
  // further pings, which do not count, ask for it. A running partner answers at once; a stalled one
  // is awaited for the same time.
  Status AskDue(SteadyTime now) {
    if (statistics_.under_way() > 0 || now < ask_at_) return {};
    ask_at_ = now + plan_.report_within / kAsksMax;
    // First the flow of the last answer, then each in rotation: some paths may be dead.
    const std::uint32_t flow = (answering_flow_ + asked_) % plan_.flows;
    return Send(flow, posted_ + ++asked_);
  }

  Status Send(std::uint32_t flow, std::uint32_t sequence) {
    Write({.session = session_, .sequence = sequence, .flow = flow}, bytes_);
    return run_.datagrams->Send(flow, bytes_, {.id = sequence, .solicited = true});
  }

  Status Take(const host::Datagram& datagram, SteadyTime now, bool late) {
    if (!datagram.ok)
      return {Code::kUnavailable,
              Format("ping {} of {}: {}", datagram.id, plan_.pings, datagram.error)};
    if (!datagram.arrived) {
      statistics_.Departed(static_cast<std::uint32_t>(datagram.id), datagram.ticks, late);
      return {};
    }
    const std::optional<PingMessage> message = ParsePing(datagram.payload);
    if (!message || message->session != session_) return {};  // Of another session
    if (message->kind == PingMessage::Kind::kAnswer) {
      answering_flow_ = message->flow % plan_.flows;
      statistics_.Answered(message->sequence, datagram.ticks, now, late);
      statistics_.Seen(message->sequence, message->seen);
    }
    if (message->kind == PingMessage::Kind::kReport)
      statistics_.Reported(message->sequence, message->delay, message->late);
    return {};
  }

  ProbeRun& run_;
  const UdPingPlan plan_;
  const std::uint64_t session_;
  PingStatistics statistics_;
  std::vector<std::byte> bytes_;
  std::array<host::Datagram, 16> found_;
  std::uint32_t posted_ = 0;
  std::uint32_t asked_ = 0;
  std::uint32_t answering_flow_ = 0;
  SteadyTime next_at_;
  SteadyTime ask_at_;
  LateSampleFilter late_filter_;
};

void InitiateUdPing(ProbeRun& run, v1::ProbeResult& result) {
  Pinging pinging(run);
  Status status = pinging.Run();
  v1::PingSummary summary = pinging.Summary();
  if (status.ok() && summary.answered() == 0 && summary.lost() > 0)
    status = {Code::kUnavailable, Format("none of {} pings was answered", summary.lost())};
  else if (status.ok() && summary.answered() == 0)
    status = {Code::kDeadlineExceeded, pinging.late() == Late::kThisEnd
                                           ? "all pings are void: this host was late"
                                           : "all pings are void: the answers came late"};
  Conclude(status, result);
  if (summary.lost() == 0) run.late = pinging.late();
  // Also after a failure: the loss of all pings is a result.
  *result.mutable_ping() = std::move(summary);
}

Status Answering(ProbeRun& run) {
  const UdPingPlan plan(run.spec);
  RETURN_IF_ERROR(AddPaths(run, plan));
  PingResponder answers(*run.datagrams, plan.message_bytes);
  ReceivedPings seen;
  LateSampleFilter late_filter;
  std::array<host::Datagram, 16> found;
  Pace pace(run, run.clock.Now().steady);
  while (!run.stopped()) {
    ASSIGN_OR_RETURN(const std::size_t count, run.datagrams->Poll(found));
    if (count == 0) {
      if (!pace.Next()) break;
      continue;
    }
    const SteadyTime now = run.clock.Now().steady;
    const bool late =
        late_filter.IsLate(now - pace.looked_at()) && !run.datagrams->hardware_clock();
    for (const host::Datagram& datagram : std::span(found).first(count)) {
      if (!datagram.arrived) {
        RETURN_IF_ERROR(answers.OnSent(datagram, late));
        continue;
      }
      std::optional<PingMessage> ping = datagram.ok ? ParsePing(datagram.payload) : std::nullopt;
      if (!ping || ping->kind != PingMessage::Kind::kPing || ping->flow >= plan.flows) continue;
      ping->seen = seen.Take(ping->sequence);
      RETURN_IF_ERROR(answers.Answer(*ping, datagram.ticks, late, ping->flow));
    }
    pace.Found(now);
  }
  return {};
}

void RespondUdPing(ProbeRun& run, v1::ProbeResult& result) {
  Conclude(Answering(run), result);
}

}  // namespace

extern const ProbeKind ud_ping = {
    .name = "ud_ping",
    .doc =
        "Round-trip time and loss of datagrams; time in the network and in the hosts is separate.",
    .check = CheckUdPing,
    .needs = NeedsUdPing,
    .initiate = InitiateUdPing,
    .respond = RespondUdPing,
};

}  // namespace fabric::probe
