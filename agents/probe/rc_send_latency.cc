// Send ping-pong over one reliable connection, as ib_send_lat does it: each side answers as soon as
// the completion of its receive is there, and a sample is half a round trip.
#include <array>

#include "agents/probe/rc_latency.h"
#include "base/text.h"

namespace fabric::probe {
namespace {

// One message is on its way; the next receive is posted before that one is answered.
constexpr std::uint32_t kReceives = 4;

LatencyPlan SendPlanOf(const v1::ProbeSpec& spec) {
  return LatencyPlan::Of(spec.rc_send_latency());
}

Status CheckRcSendLatency(const v1::ProbeSpec& spec) {
  return CheckLatency(spec, spec.rc_send_latency());
}

ProbeNeeds NeedsRcSendLatency(const v1::ProbeSpec& spec) {
  return host::RcOptions{.memory_bytes = 2 * SendPlanOf(spec).half_bytes(),
                         .receive_queue_depth = kReceives,
                         .inline_bytes = kSendInlineBytes};
}

// Both ends send from the first half and receive into the second one.
class PingPong {
 public:
  explicit PingPong(ProbeRun& run) : run_(run), plan_(SendPlanOf(run.spec)) {}

  const LatencyPlan& plan() const { return plan_; }

  Status PostReceive() {
    return run_.queue_pairs->Post({.operation = host::Operation::kReceive,
                                   .offset = plan_.half_bytes(),
                                   .bytes = plan_.message_bytes});
  }
  Status PostSend(std::uint32_t round) {
    return run_.queue_pairs->Post(
        {.operation = host::Operation::kSend, .bytes = plan_.message_bytes, .id = round});
  }

  // Until that number of sends and receives has completed since the start. Reposts receives.
  Status Await(Pace& pace, std::uint32_t sent, std::uint32_t received) {
    std::array<host::Completion, 4> completions;
    while (sent_ < sent || received_ < received) {
      ASSIGN_OR_RETURN(const std::size_t count, run_.queue_pairs->Poll(completions));
      for (const host::Completion& completion : std::span(completions).first(count)) {
        const std::string_view what = completion.received ? "receive" : "send";
        std::uint32_t& number = completion.received ? received_ : sent_;
        ++number;
        if (!completion.ok) return Failed(run_, {what, number, plan_.rounds}, completion);
        if (completion.received) RETURN_IF_ERROR(PostReceive());
      }
      if (count == 0 && !pace.Next())
        return {Code::kDeadlineExceeded,
                sent_ < sent ? Format("send {} of {}: no completion", sent, plan_.rounds)
                             : Format("round {} of {}: no message from the partner", received,
                                      plan_.rounds)};
    }
    return {};
  }

 private:
  ProbeRun& run_;
  const LatencyPlan plan_;
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
};

Status PrepareRcSendLatency(ProbeRun& run) {
  PingPong game(run);
  for (std::uint32_t n = 0; n < kReceives; ++n) RETURN_IF_ERROR(game.PostReceive());
  return {};
}

Status Ping(PingPong& game, Rounds& rounds) {
  for (std::uint32_t round = 1; round <= game.plan().rounds; ++round) {
    RETURN_IF_ERROR(rounds.Begin(round));
    RETURN_IF_ERROR(game.PostSend(round));
    Pace pace = rounds.Posted();
    RETURN_IF_ERROR(game.Await(pace, round, round));
    rounds.End(pace);
  }
  return {};
}

Status Pong(ProbeRun& run, PingPong& game) {
  for (std::uint32_t round = 1; round <= game.plan().rounds; ++round) {
    Pace pace(run, run.clock.Now().steady);
    RETURN_IF_ERROR(game.Await(pace, round - 1, round));
    RETURN_IF_ERROR(game.PostSend(round));
  }
  // After the last answer the initiator may be gone before it has acknowledged it.
  return {};
}

void InitiateRcSendLatency(ProbeRun& run, v1::ProbeResult& result) {
  PingPong game(run);
  Rounds rounds(run, game.plan(), 2);
  rounds.Conclude(Ping(game, rounds), result);
}

void RespondRcSendLatency(ProbeRun& run, v1::ProbeResult& result) {
  PingPong game(run);
  Conclude(Pong(run, game), result);
  if (result.status() == v1::PROBE_STATUS_OK) run.await_stop();
}

}  // namespace

extern const ProbeKind rc_send_latency = {
    .name = "rc_send_latency",
    .doc = "Half of the round trip of sends over one reliable connection.",
    .check = CheckRcSendLatency,
    .needs = NeedsRcSendLatency,
    .prepare = PrepareRcSendLatency,
    .initiate = InitiateRcSendLatency,
    .respond = RespondRcSendLatency,
};

}  // namespace fabric::probe
