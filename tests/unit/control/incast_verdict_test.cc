// What counters of an incast's ends say: one row for each outcome, and for each thing that nobody
// counts.
#include "daemon/control/campaigns/incast_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/text.h"

namespace fabric::control {
namespace {

using Deltas = std::map<std::string, std::uint64_t>;
using ::testing::Contains;
using ::testing::HasSubstr;

IncastEnd End(const std::string& node, const Deltas& deltas, PortClass traffic) {
  IncastEnd end{.deltas = {}, .traffic = traffic};
  end.deltas.mutable_port()->set_node(node);
  end.deltas.mutable_port()->set_device("mlx5_0");
  end.deltas.mutable_port()->set_port(1);
  for (const auto& [name, moved] : deltas) {
    v1::CounterDelta& delta = *end.deltas.add_counters();
    delta.set_name(name);
    delta.set_before(1000);
    delta.set_after(1000 + moved);
  }
  return end;
}

constexpr PortClass kLossless{.priority = 3, .pfc = true, .global_pause = false};

// What mlx5 counts on both ends, all at rest.
const Deltas kReceiver = {{"pfc_tx_frames_prio3", 0},   {"pfc_rx_frames_prio3", 0},
                          {"ecn_marked_rx_packets", 0}, {"cnp_tx_packets", 0},
                          {"rx_discards_prio3", 0},     {"duplicate_request", 0},
                          {"out_of_sequence", 0}};
const Deltas kSender = {{"pfc_tx_frames_prio3", 0}, {"pfc_rx_frames_prio3", 0},
                        {"cnp_rx_handled", 0},      {"seq_nak_received", 0},
                        {"ack_timeout", 0},         {"adaptive_retrans", 0}};

// `changes` over `deltas`; without what is named in `gone`.
Deltas With(Deltas deltas, const Deltas& changes, const std::vector<std::string>& gone = {}) {
  for (const auto& [name, moved] : changes) deltas[name] = moved;
  for (const std::string& name : gone) deltas.erase(name);
  return deltas;
}

IncastBurst Burst(const Deltas& receiver, const Deltas& sender, PortClass traffic = kLossless) {
  IncastBurst burst{.receiver = End("hub", receiver, traffic), .senders = {}, .planned = 3};
  for (int n = 1; n <= 3; ++n)
    burst.senders.push_back(End(Format("n{}", n), n == 2 ? sender : kSender, traffic));
  return burst;
}

struct IncastCase {
  const char* name;
  Deltas receiver;
  Deltas sender;  // Of one of three; the others count all and are at rest.
  v1::IncastVerdict verdict;
  const char* evidence = "";
  PortClass traffic = kLossless;
};

class Outcome : public ::testing::TestWithParam<IncastCase> {};

TEST_P(Outcome, IsWhatTheCountersSay) {
  const IncastCase& one = GetParam();
  const v1::IncastReport report = JudgeIncast(Burst(one.receiver, one.sender, one.traffic));
  EXPECT_EQ(v1::IncastVerdict_Name(report.verdict()), v1::IncastVerdict_Name(one.verdict))
      << report.DebugString();
  if (*one.evidence != '\0') {
    EXPECT_THAT(report.evidence(), Contains(HasSubstr(one.evidence)));
  }
  EXPECT_EQ(report.senders(), 3u);
  ASSERT_EQ(report.counter_deltas_size(), 4);
  EXPECT_EQ(report.counter_deltas(0).port().node(), "hub");
}

const IncastCase kOutcomes[] = {
    {"PfcFiredAtASender", kReceiver, With(kSender, {{"pfc_rx_frames_prio3", 812}}),
     v1::INCAST_VERDICT_LOSSLESS, "PFC received (priority 3 at the receiver): n2/mlx5_0/1 812"},
    {"PfcFiredAtTheReceiver", With(kReceiver, {{"pfc_tx_frames_prio3", 7}}), kSender,
     v1::INCAST_VERDICT_LOSSLESS, "PFC sent (priority 3 at the receiver): hub/mlx5_0/1 7"},
    {"MarksAndPfc", With(kReceiver, {{"ecn_marked_rx_packets", 90}}),
     With(kSender, {{"pfc_rx_frames_prio3", 1}}), v1::INCAST_VERDICT_LOSSLESS},
    {"Naks", kReceiver, With(kSender, {{"seq_nak_received", 12}}),
     v1::INCAST_VERDICT_LOSS_WITHOUT_PFC, "missed packets, reported to: n2/mlx5_0/1 12"},
    {"TimeoutsAndDiscards", With(kReceiver, {{"rx_discards", 1}}),
     With(kSender, {{"ack_timeout", 2}}), v1::INCAST_VERDICT_LOSS_WITHOUT_PFC,
     "sent again: n2/mlx5_0/1 2"},
    {"TimeoutsAlone", kReceiver, With(kSender, {{"ack_timeout", 2}}), v1::INCAST_VERDICT_UNKNOWN,
     "a timeout expired: packets were lost or delayed longer than the timeout"},
    {"DiscardsOfThePriority", With(kReceiver, {{"rx_discards_prio3", 5}}), kSender,
     v1::INCAST_VERDICT_LOSS_WITHOUT_PFC, "discarded on the priority: hub/mlx5_0/1 5"},
    {"NaksThoughPfcFired", With(kReceiver, {{"pfc_tx_frames_prio3", 7}}),
     With(kSender, {{"seq_nak_received", 1}}), v1::INCAST_VERDICT_LOSS_DESPITE_PFC},
    {"TimeoutsWhilePaused", kReceiver,
     With(kSender, {{"ack_timeout", 2}, {"pfc_rx_frames_prio3", 900}}), v1::INCAST_VERDICT_UNKNOWN,
     "a timeout expired"},
    {"GlobalPause", With(kReceiver, {{"pause_tx_frames", 4000}}), kSender,
     v1::INCAST_VERDICT_GLOBAL_PAUSE, "global pause: hub/mlx5_0/1 4000"},
    {"GlobalPauseAndLoss", kReceiver,
     With(kSender, {{"pause_rx_duration_us", 9}, {"seq_nak_received", 1}}),
     v1::INCAST_VERDICT_GLOBAL_PAUSE},
    {"NothingMoved", kReceiver, kSender, v1::INCAST_VERDICT_NO_CONGESTION},
    {"MarksAlone", With(kReceiver, {{"ecn_marked_rx_packets", 90}}), kSender,
     v1::INCAST_VERDICT_ECN_ONLY, "congestion marks at: hub/mlx5_0/1 90"},
    {"CnpsAlone", With(kReceiver, {}, {"ecn_marked_rx_packets", "cnp_tx_packets"}),
     With(kSender, {{"cnp_rx_handled", 3}}), v1::INCAST_VERDICT_ECN_ONLY},
    // Reordered and not lost: several paths.
    {"OutOfOrderAlone", With(kReceiver, {{"out_of_sequence", 40}}), kSender,
     v1::INCAST_VERDICT_NO_CONGESTION},
    // PFC of another priority is not that of this traffic.
    {"PfcOfAnotherPriority", kReceiver, With(kSender, {{"pfc_rx_frames_prio5", 812}}),
     v1::INCAST_VERDICT_NO_CONGESTION},
    {"DiscardsOfOtherTraffic", With(kReceiver, {{"rx_discards", 5}}), kSender,
     v1::INCAST_VERDICT_NO_CONGESTION, "discarded, any traffic"},
    {"PfcOffByItsSettings",
     With(kReceiver, {}, {"pfc_tx_frames_prio3", "pfc_rx_frames_prio3"}),
     With(kSender, {{"seq_nak_received", 3}}, {"pfc_rx_frames_prio3"}),
     v1::INCAST_VERDICT_LOSS_WITHOUT_PFC,
     "",
     {.priority = 3, .pfc = false, .global_pause = false}},
    {"PriorityNotKnown",
     kReceiver,
     With(kSender, {{"pfc_rx_frames_prio5", 812}}),
     v1::INCAST_VERDICT_LOSSLESS,
     "PFC received (of any priority)",
     {}},
    {"OnlyTheSumOfPriorities",
     With(kReceiver, {{"pfc_tx_frames", 3}}, {"pfc_tx_frames_prio3", "pfc_rx_frames_prio3"}),
     kSender, v1::INCAST_VERDICT_UNKNOWN, "no PFC-sent counter at: hub/mlx5_0/1"},
};
INSTANTIATE_TEST_SUITE_P(Incast, Outcome, ::testing::ValuesIn(kOutcomes),
                         [](const auto& test) { return std::string(test.param.name); });

const IncastCase kUncounted[] = {
    {"PfcAtASender", kReceiver, With(kSender, {}, {"pfc_rx_frames_prio3"}),
     v1::INCAST_VERDICT_UNKNOWN, "no PFC-received counter at: n2/mlx5_0/1"},
    {"PfcWhileLost", kReceiver, With(kSender, {{"seq_nak_received", 1}}, {"pfc_rx_frames_prio3"}),
     v1::INCAST_VERDICT_UNKNOWN, "packets were lost; PFC counters are not available"},
    {"LossAtASender", With(kReceiver, {{"pfc_tx_frames_prio3", 7}}),
     With(kSender, {}, {"seq_nak_received", "ack_timeout"}), v1::INCAST_VERDICT_UNKNOWN,
     "no retransmission counter at: n2/mlx5_0/1"},
    {"DiscardsOfUnknownTraffic", With(kReceiver, {{"rx_discards", 7}}),
     With(kSender, {}, {"seq_nak_received", "ack_timeout"}), v1::INCAST_VERDICT_UNKNOWN,
     "packets were discarded; no counter shows whether they belong to the burst"},
    {"Marks", With(kReceiver, {}, {"ecn_marked_rx_packets", "cnp_tx_packets"}),
     With(kSender, {}, {"cnp_rx_handled"}), v1::INCAST_VERDICT_UNKNOWN,
     "no packet was lost; ECN counters are not available"},
    {"GlobalPause",
     With(kReceiver, {}, {"pfc_tx_frames_prio3", "pfc_rx_frames_prio3"}),
     kSender,
     v1::INCAST_VERDICT_UNKNOWN,
     "no packet was lost; global pause counters are not available",
     {.priority = 3, .pfc = false}},
    // Soft RoCE: retries and sequence errors, and nothing of the wire.
    {"NothingOfTheWire",
     {{"out_of_sequence", 0}},
     {{"ack_timeout", 0}},
     v1::INCAST_VERDICT_UNKNOWN,
     "PFC counters are not available",
     {}},
    {"NothingAtAll", {}, {}, v1::INCAST_VERDICT_UNKNOWN, "loss counters are not available", {}},
};
INSTANTIATE_TEST_SUITE_P(WhatNobodyCounts, Outcome, ::testing::ValuesIn(kUncounted),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(IncastVerdict, OneSenderIsNoIncast) {
  IncastBurst burst = Burst(With(kReceiver, {{"pfc_tx_frames_prio3", 7}}), kSender);
  burst.senders.resize(1);
  burst.failures = {"n2/mlx5_0/1: timed out: no answer", "n3/mlx5_0/1: refused: port is DOWN"};
  const v1::IncastReport report = JudgeIncast(burst);
  EXPECT_EQ(report.verdict(), v1::INCAST_VERDICT_UNKNOWN);
  EXPECT_THAT(report.evidence(), ::testing::ElementsAre("n2/mlx5_0/1: timed out: no answer",
                                                        "n3/mlx5_0/1: refused: port is DOWN",
                                                        "1 of 3 senders ran: no incast"));
}

TEST(IncastVerdict, ManyEndsAreOneLine) {
  IncastBurst burst = Burst(kReceiver, kSender);
  burst.senders.clear();
  for (unsigned n = 1; n <= 5; ++n)
    burst.senders.push_back(
        End(Format("n{}", n), With(kSender, {{"pfc_rx_frames_prio3", n}}), kLossless));
  EXPECT_THAT(JudgeIncast(burst).evidence(),
              Contains("PFC received (priority 3 at the receiver): n5/mlx5_0/1 5, n4/mlx5_0/1 4, "
                       "n3/mlx5_0/1 3 and 2 more"));
}

TEST(IncastVerdict, ReadingsOfOnePortAreFromTheFirstToTheLast) {
  v1::PortCounterDeltas all;
  for (const auto& [before, after] :
       {std::pair(100, 150), std::pair(90, 140), std::pair(95, 170)}) {
    v1::PortCounterDeltas one = End("hub", {}, {}).deltas;
    v1::CounterDelta& delta = *one.add_counters();
    delta.set_name("pfc_tx_frames_prio3");
    delta.set_before(static_cast<std::uint64_t>(before));
    delta.set_after(static_cast<std::uint64_t>(after));
    one.add_missing("rx_discards");
    if (before != 90) one.add_missing("ack_timeout");
    MergeDeltas(one, all);
  }
  ASSERT_EQ(all.counters_size(), 1);
  EXPECT_EQ(all.counters(0).before(), 90u);
  EXPECT_EQ(all.counters(0).after(), 170u);
  EXPECT_THAT(all.missing(), ::testing::ElementsAre("rx_discards"));
  EXPECT_EQ(all.port().node(), "hub");
}

}  // namespace
}  // namespace fabric::control
