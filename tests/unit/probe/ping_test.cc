// Pings by datagrams: ud_ping and its parts.
#include <gtest/gtest.h>

#include <array>

#include "agents/probe/ping/ping_message.h"
#include "agents/probe/ping/ping_responder.h"
#include "agents/probe/ping/ping_statistics.h"
#include "tests/unit/probe/both_ends.h"

namespace fabric::probe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::FakeFabric;

const ProbeKind& Ping() {
  return *FindProbeKind("ud_ping");
}

struct Responder {
  // Meanwhile it does nothing.
  Duration asleep_from{};
  Duration asleep_until{};
  bool tells = true;  // Which pings came before
};

// Each look at it is so much later, and the responder has done its part by then: no thread.
class AnsweringClock final : public Clock {
 public:
  AnsweringClock(host::UdQueuePairs& datagrams, std::uint32_t bytes, const Responder& responder)
      : datagrams_(datagrams), responder_(responder), answers_(datagrams, bytes) {}

  Moment Now() const override {
    now_ += microseconds(20);
    std::array<host::Datagram, 16> found;
    const bool asleep = now_ >= responder_.asleep_from && now_ < responder_.asleep_until;
    const std::size_t count = asleep ? 0 : *datagrams_.Poll(found);
    for (const host::Datagram& datagram : std::span(found).first(count)) {
      if (!datagram.arrived) {
        EXPECT_TRUE(answers_.OnSent(datagram, false).ok());
      } else if (auto ping = ParsePing(datagram.payload)) {
        if (responder_.tells) ping->seen = seen_.Take(ping->sequence);
        EXPECT_TRUE(answers_.Answer(*ping, datagram.ticks, false, ping->flow).ok());
      }
    }
    return {.steady = SteadyTime(now_), .wall = {}};
  }

 private:
  host::UdQueuePairs& datagrams_;
  const Responder responder_;
  mutable PingResponder answers_;
  mutable ReceivedPings seen_;
  mutable Duration now_{};
};

struct Pinged {
  v1::ProbeResult result;
  Late late;
  Duration took;
};

Pinged PingOnce(const char* json, FakeFabric& fabric, const Responder& responder = {}) {
  const v1::ProbeSpec spec = SpecOf(json);
  TestEnd a(Ping(), spec, "a", fabric);
  TestEnd b(Ping(), spec, "b", fabric);
  a.Connect(Ping(), spec, b);
  b.Connect(Ping(), spec, a);
  const auto& labels = spec.ud_ping().flow_labels();
  for (int flow = 0; flow < std::max(1, labels.size()); ++flow)
    EXPECT_TRUE(b.datagrams
                    ->AddPath(a.local(), {.flow = static_cast<std::uint32_t>(flow),
                                          .flow_label = labels.empty() ? 0 : labels[flow]})
                    .ok());
  const AnsweringClock clock(*b.datagrams, 64, responder);
  ProbeRun run = a.RunOf(spec, clock);
  v1::ProbeResult result;
  Ping().initiate(run, result);
  return {.result = result, .late = run.late, .took = clock.Now().steady.time_since_epoch()};
}

v1::ProbeResult RunPing(const char* json, FakeFabric& fabric) {
  return PingOnce(json, fabric).result;
}

TEST(UdPing, TellsTheNetworkFromTheHosts) {
  FakeFabric fabric;
  fabric.SetDelay(microseconds(3));
  const v1::ProbeResult result = RunPing(R"({"ud_ping": {"pings": 50}})", fabric);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  const v1::PingSummary& ping = result.ping();
  EXPECT_EQ(ping.sent(), 50u);
  EXPECT_EQ(ping.answered(), 50u);
  EXPECT_EQ(ping.lost(), 0u);
  EXPECT_TRUE(ping.hardware_timestamps());
  EXPECT_FALSE(ping.queue_pair_per_flow());
  EXPECT_NEAR(ping.network_round_trip().median_us(), 6.0, 0.05);
  EXPECT_EQ(ping.network_round_trip().samples(), 50u);
  EXPECT_NEAR(ping.responder_delay().median_us(), 0.1, 0.01);
}

TEST(UdPing, CountsWhatIsLostByFlow) {
  FakeFabric fabric;
  fabric.LoseFlow("b", 0x22);
  const v1::ProbeResult result =
      RunPing(R"({"ud_ping": {"pings": 30, "answer_within_ms": 5, "interval_us": 10,
                              "flow_labels": [17, 34, 51]}})",
              fabric);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_EQ(result.ping().lost(), 10u);
  EXPECT_EQ(result.ping().answered(), 20u);
  ASSERT_EQ(result.ping().flows_size(), 3);
  EXPECT_EQ(result.ping().flows(1).flow_label(), 34u);
  EXPECT_EQ(result.ping().flows(1).lost(), 10u);
  EXPECT_FALSE(result.ping().flows(1).has_median_us());
  EXPECT_EQ(result.ping().flows(2).lost(), 0u);
  EXPECT_GT(result.ping().flows(2).median_us(), 0);
}

TEST(UdPing, SeesOneLossInTen) {
  FakeFabric fabric;
  fabric.LoseEvery("b", 10);
  const v1::ProbeResult result =
      RunPing(R"({"ud_ping": {"pings": 100, "answer_within_ms": 5}})", fabric);
  EXPECT_EQ(result.ping().lost(), 10u);
  EXPECT_EQ(result.ping().answered(), 90u);
}

TEST(UdPing, ADeadPartnerIsAFailureThatKeepsTheFigures) {
  FakeFabric fabric;
  fabric.Silence("b");
  const v1::ProbeResult result =
      RunPing(R"({"ud_ping": {"pings": 40, "answer_within_ms": 5}})", fabric);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_FAILED);
  EXPECT_EQ(result.reason(), "none of 40 pings was answered");
  EXPECT_EQ(result.ping().lost(), 40u);
}

// The host was late, not the network: nothing is lost.
TEST(UdPing, AnswersAfterTheirTimeAreVoid) {
  FakeFabric fabric;
  const v1::ProbeResult result =
      PingOnce(R"({"ud_ping": {"pings": 40, "answer_within_ms": 5, "flow_labels": [1, 2]}})",
               fabric, {.asleep_until = milliseconds(12)})
          .result;
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_EQ(result.ping().lost(), 0u);
  EXPECT_GE(result.ping().voided(), 6u);
  EXPECT_EQ(result.ping().answered() + result.ping().voided(), 40u);
  std::uint32_t sent = 0;
  for (const v1::FlowSummary& flow : result.ping().flows()) sent += flow.sent();
  EXPECT_EQ(sent, result.ping().answered()) << "void ones tell nothing of a flow";
}

TEST(UdPing, APartnerThatIsAlwaysLateIsNotOneThatLoses) {
  FakeFabric fabric;
  const auto& [result, late, took] = PingOnce(R"({"ud_ping": {"pings": 8, "answer_within_ms": 5}})",
                                              fabric, {.asleep_until = milliseconds(20)});
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(result.reason(), "all pings are void: the answers came late");
  EXPECT_EQ(late, Late::kPartner);
  EXPECT_EQ(result.ping().lost(), 0u);
  EXPECT_EQ(result.ping().voided(), 8u);
}

constexpr const char* kFourPaths =
    R"({"ud_ping": {"pings": 40, "answer_within_ms": 50, "flow_labels": [1, 2, 3, 4]}})";

// The last ping is lost with one path of four, there or back; the others tell.
TEST(UdPing, LossAtTheEndIsKnownAsSoonAsThePartnerSaysSo) {
  for (const char* const towards : {"b", "a"}) {
    FakeFabric fabric;
    fabric.LoseFlow(towards, 4);
    const auto& [result, late, took] = PingOnce(kFourPaths, fabric);
    EXPECT_EQ(result.ping().sent(), 40u) << "what asks is not counted";
    EXPECT_EQ(result.ping().answered(), 30u);
    EXPECT_EQ(result.ping().lost(), 10u);
    const v1::FlowSummary& lossy = result.ping().flows(3);
    EXPECT_EQ(lossy.sent(), 10u);
    EXPECT_EQ(lossy.lost_out(), *towards == 'b' ? 10u : 0u);
    EXPECT_EQ(lossy.lost_in(), *towards == 'a' ? 10u : 0u);
    EXPECT_GT(took, milliseconds(39 + 50));
    EXPECT_LT(took, milliseconds(39 + 50 + 5));
  }
}

TEST(UdPing, APartnerThatSleepsAtTheEndIsWaitedFor) {
  FakeFabric fabric;
  const auto& [result, late, took] = PingOnce(
      kFourPaths, fabric, {.asleep_from = milliseconds(30), .asleep_until = milliseconds(250)});
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_EQ(result.ping().lost(), 0u);
  EXPECT_GE(result.ping().voided(), 9u);
  EXPECT_EQ(result.ping().answered() + result.ping().voided(), 40u);
  EXPECT_LT(took, milliseconds(250 + 5)) << "and no longer";
}

// One that answers nothing any more, or does not tell which pings came as agents of old.
TEST(UdPing, WhereNoWordComesThatIsWaitedForAsLongAsEver) {
  for (const bool dies : {true, false}) {
    FakeFabric fabric;
    if (!dies) fabric.LoseFlow("b", 4);
    const auto& [result, late, took] =
        PingOnce(kFourPaths, fabric,
                 {.asleep_from = milliseconds(30),
                  .asleep_until = dies ? milliseconds(1000) : milliseconds(30),
                  .tells = dies});
    EXPECT_EQ(result.ping().lost(), 10u) << dies;
    EXPECT_GT(took, milliseconds(39 + 50 + 200));
    EXPECT_LT(took, milliseconds(39 + 50 + 205));
  }
}

TEST(UdPing, FlowsHaveTheirOwnQueuePairsWhereLabelsAreIgnored) {
  FakeFabric fabric;
  fabric.SetFlowLabels(false);
  fabric.SetHardwareClock(false);
  const v1::ProbeResult result =
      RunPing(R"({"ud_ping": {"pings": 9, "flow_labels": [1, 2, 3]}})", fabric);
  EXPECT_EQ(result.status(), v1::PROBE_STATUS_OK) << result.reason();
  EXPECT_TRUE(result.ping().queue_pair_per_flow());
  EXPECT_FALSE(result.ping().hardware_timestamps());
  EXPECT_EQ(result.ping().answered(), 9u);
}

TEST(UdPing, BothEndsOfTheKindUnderstandEachOther) {
  FakeFabric fabric;
  const BothResults results = RunBoth(
      Ping(),
      SpecOf(R"({"ud_ping": {"pings": 20, "answer_within_ms": 60000, "flow_labels": [5, 6]}})"),
      fabric);
  EXPECT_EQ(results.initiator.status(), v1::PROBE_STATUS_OK) << results.initiator.reason();
  EXPECT_EQ(results.initiator.ping().answered(), 20u);
  EXPECT_EQ(results.responder.status(), v1::PROBE_STATUS_OK) << results.responder.reason();
}

TEST(UdPing, ADatagramThatDoesNotFitIsSaidSo) {
  FakeFabric fabric;
  fabric.SetActiveMtu("b", 1024);
  EXPECT_EQ(RunPing(R"({"ud_ping": {"message_bytes": 2048}})", fabric).reason(),
            "a datagram of 2048 bytes does not fit into the path MTU of 1024");
}

PingStatistics::Options Ledger(bool hardware_clock) {
  return {.flows = 1,
          .answer_within = milliseconds(10),
          .hardware_clock = hardware_clock,
          .elapsed = [](std::uint64_t from, std::uint64_t to) {
            return Duration(static_cast<std::int64_t>(to - from));
          }};
}

constexpr SteadyTime kStart{};

TEST(PingStatistics, ALateLookSpoilsSoftwareTimesOnly) {
  for (const bool hardware : {false, true}) {
    PingStatistics ledger(Ledger(hardware));
    const std::uint32_t ping = ledger.Post(0, kStart);
    ledger.Departed(ping, 100, false);
    ledger.Answered(ping, 5100, kStart + microseconds(90), true);
    ledger.Reported(ping, microseconds(1), false);
    const v1::PingSummary summary = ledger.Summary();
    EXPECT_EQ(summary.answered(), 1u);
    EXPECT_EQ(summary.has_network_round_trip(), hardware);
    if (hardware) {
      EXPECT_NEAR(summary.network_round_trip().median_us(), 4.0, 0.02);
      EXPECT_NEAR(summary.initiator_delay().median_us(), 85.0, 0.4);
    }
    EXPECT_EQ(ledger.awaited(), 0u);
  }
}

TEST(PingStatistics, TakesWhatComesInAnyOrderAndNothingTwice) {
  PingStatistics ledger(Ledger(true));
  const std::uint32_t first = ledger.Post(0, kStart);
  const std::uint32_t second = ledger.Post(0, kStart);
  ledger.Reported(second, microseconds(1), false);
  ledger.Answered(second, 4000, kStart + microseconds(9), false);
  ledger.Answered(second, 9000, kStart + microseconds(19), false);
  ledger.Departed(second, 1000, false);
  ledger.Answered(7, 1, kStart, false);  // Never sent
  EXPECT_EQ(ledger.awaited(), 1u);
  ledger.Expire(kStart + milliseconds(11));
  ledger.Answered(first, 1, kStart, false);  // Too late
  const v1::PingSummary summary = ledger.Summary();
  EXPECT_EQ(summary.answered(), 1u);
  EXPECT_EQ(summary.lost(), 1u);
  EXPECT_NEAR(summary.network_round_trip().median_us(), 2.0, 0.01);
}

TEST(PingStatistics, NothingIsSaidOfPingsThatNobodyLookedFor) {
  PingStatistics ledger(Ledger(true));
  ledger.Post(0, kStart);
  ledger.MarkUnreliable();
  ledger.Post(0, kStart + milliseconds(1));
  ledger.Expire(kStart + milliseconds(20));
  EXPECT_EQ(ledger.Summary().voided(), 1u);
  EXPECT_EQ(ledger.Summary().lost(), 1u);
}

TEST(PingStatistics, KnowsWhoWasLate) {
  PingStatistics::Options options = Ledger(true);
  options.report_within = milliseconds(50);
  const auto late = [&](int unreliable, int left_late, int answered_late) {
    PingStatistics ledger(options);
    for (int n = 0; n < unreliable; ++n) ledger.Post(0, kStart);
    ledger.MarkUnreliable();
    for (int n = 0; n < left_late + answered_late; ++n) {
      const std::uint32_t ping = ledger.Post(0, kStart);
      if (n >= left_late) ledger.Departed(ping, 100, false);
    }
    ledger.Expire(kStart + milliseconds(11));
    const auto all = static_cast<std::uint32_t>(unreliable + left_late + answered_late);
    for (std::uint32_t ping = 1; ping <= all; ++ping)
      ledger.Answered(ping, 200, kStart + milliseconds(30), false);
    EXPECT_EQ(ledger.Summary().voided(), all);
    return ledger.late();
  };
  EXPECT_EQ(late(0, 0, 0), Late::kNone);
  EXPECT_EQ(late(1, 0, 0), Late::kThisEnd) << "nobody looked";
  EXPECT_EQ(late(0, 1, 0), Late::kThisEnd) << "it had not left in its time";
  EXPECT_EQ(late(0, 0, 1), Late::kPartner);
  EXPECT_EQ(late(1, 1, 2), Late::kThisEnd);
  EXPECT_EQ(late(1, 1, 3), Late::kPartner);
}

TEST(PingStatistics, TheRespondersWordTellsWhichWayWasLost) {
  PingStatistics ledger(Ledger(true));
  for (int n = 0; n < 4; ++n) ledger.Post(0, kStart);
  // 1 and 2 stay without an answer, 3 says that it got 1 and not 2; of 4 nobody says anything.
  ledger.Departed(3, 1000, false);
  ledger.Answered(3, 4000, kStart, false);
  ledger.Reported(3, microseconds(1), false);
  ledger.Seen(3, 0b110);
  ledger.Expire(kStart + milliseconds(11));
  const v1::PingSummary summary = ledger.Summary();
  EXPECT_EQ(summary.lost(), 3u);
  EXPECT_EQ(summary.flows(0).lost_in(), 1u);
  EXPECT_EQ(summary.flows(0).lost_out(), 1u);
}

TEST(ReceivedPings, SaysWhatCameAndNoMoreThanItKnows) {
  ReceivedPings seen;
  EXPECT_EQ(seen.Take(7), 1u) << "nothing is known of those before";
  EXPECT_EQ(seen.Take(8), 0b11u);
  EXPECT_EQ(seen.Take(11), 0b10000u | 0b1100u) << "7 and 8 came, 9 and 10 did not";
  EXPECT_EQ(seen.Take(10), 0u) << "overtaken: it is noted, and nothing is said";
  EXPECT_EQ(seen.Take(12), 0b100000u | 0b11011u);
  EXPECT_EQ(seen.Take(500), std::uint64_t{1} << 62) << "none of the 62 before";
}

TEST(OutstandingPings, AnAnswerAfterItsTimeIsNoLoss) {
  std::vector<SettledPing::Outcome> fates;
  OutstandingPings table(
      {.answer_within = milliseconds(10),
       .report_within = milliseconds(100),
       .hardware_clock = true,
       .elapsed = [](std::uint64_t, std::uint64_t) { return Duration(1); },
       .settled = [&](const SettledPing& ping) { fates.push_back(ping.outcome); }});
  const std::uint32_t late = table.Post(0, kStart);
  table.Post(0, kStart);
  table.Expire(kStart + milliseconds(11));
  EXPECT_TRUE(fates.empty()) << "waits for the partner's word";
  table.Answered(late, 1, kStart + milliseconds(50), false);
  table.Expire(kStart + milliseconds(111));
  EXPECT_EQ(fates, (std::vector{SettledPing::Outcome::kVoided, SettledPing::Outcome::kLost}));
}

TEST(PingMessage, CarriesWhereTheAnswerIsWanted) {
  ReplyAddress sent{
      .queue_pair = 0xabcdef, .queue_key = 0x12345678, .lid = 0xfff0, .flow_label = 0xfffff};
  sent.gid[15] = std::byte{9};
  std::array<std::byte, kPingWithReplyAddressBytes> bytes{};
  WriteReplyAddress(sent, bytes);
  EXPECT_EQ(ParseReplyAddress(bytes), sent);
  EXPECT_FALSE(
      ParseReplyAddress(std::span(bytes).first(kPingWithReplyAddressBytes - 1)).has_value());
  sent.queue_pair = 0x1000000;
  WriteReplyAddress(sent, bytes);
  EXPECT_FALSE(ParseReplyAddress(bytes).has_value()) << "no such queue pair";
}

TEST(PingMessage, ComesBackAsItWas) {
  const PingMessage sent{.kind = PingMessage::Kind::kReport,
                         .late = true,
                         .session = 0x0123456789abcdef,
                         .sequence = 0xfedcba98,
                         .flow = 255,
                         .delay = Duration(123'456'789),
                         .seen = 0x8000000000000001};
  std::array<std::byte, 64> bytes{};
  Write(sent, bytes);
  const auto seen = ParsePing(bytes);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->kind, sent.kind);
  EXPECT_TRUE(seen->late);
  EXPECT_EQ(seen->session, sent.session);
  EXPECT_EQ(seen->sequence, sent.sequence);
  EXPECT_EQ(seen->flow, sent.flow);
  EXPECT_EQ(seen->delay, sent.delay);
  EXPECT_EQ(seen->seen, sent.seen);

  EXPECT_FALSE(ParsePing(std::span(bytes).first(39)).has_value());
  for (const std::size_t at : {0U, 4U, 5U, 24U}) {  // Magic, version, kind, delay
    std::array<std::byte, 64> other = bytes;
    other[at] = std::byte{0x7f};
    EXPECT_FALSE(ParsePing(other).has_value()) << at;
  }
}

}  // namespace
}  // namespace fabric::probe
