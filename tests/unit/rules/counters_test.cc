// Rules on counter rates: no_pause_storm, pause_received_within_limit, pause_sent_within_limit,
// pfc_frames_on_enabled_priorities, lossless_priority_keeps_packets, congestion_marks_answered,
// cnps_obeyed, cnp_share_within_limit, acknowledgements_in_time, packets_in_sequence,
// receivers_ready, roce_packets_intact, rdma_on_lossless_priority, link_stays_up,
// link_errors_within_limit, pcie_link_without_errors, discards_like_equals, ecn_acts_before_pfc,
// raw_bit_errors_within_limit, module_reports_no_fault, pcie_not_stalled, error_registers_count,
// lossless_without_retransmissions, receives_posted, receivers_answer, no_pause_deadlock,
// credits_available, congestion_counters_present
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/counter_rates.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::Pair;
using testing::PairOf;

Pair Roce(std::uint32_t nodes = 3, std::uint32_t rails = 2) {
  return PairOf(Nodes(nodes, testing::RoceNode, {.rails = rails}));
}

std::vector<std::string> PairFailures(const Pair& pair, const profile::Profile& profile = {}) {
  return FailuresBetween(pair.before, pair.after, profile);
}

v1::Finding ThePairFailure(const Pair& pair, const profile::Profile& profile = {}) {
  EXPECT_THAT(PairFailures(pair, profile), ::testing::SizeIs(1));
  for (const v1::Finding& finding : JudgeBetween(pair.before, pair.after, profile).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) return finding;
  return {};
}

TEST(CounterRules, PassOnAnIdleFleet) {
  for (const auto make : {testing::RoceNode, testing::LabNode, testing::BnxtNode,
                          testing::InfinibandNode, testing::IwarpNode})
    EXPECT_THAT(PairFailures(PairOf(Nodes(3, make, {}))), IsEmpty());
}

TEST(CounterRules, PassOnABusyFleet) {
  for (const auto make :
       {testing::RoceNode, testing::LabNode, testing::BnxtNode, testing::InfinibandNode}) {
    Pair pair = PairOf(Nodes(3, make, {.rails = 4}));
    for (std::size_t node = 0; node < 3; ++node)
      for (std::uint32_t rail = 0; rail < 4; ++rail) testing::Busy(pair, node, rail);
    EXPECT_THAT(PairFailures(pair), IsEmpty());
    v1::Expectations expect;
    expect.set_lossless(true);
    expect.set_ecn(true);
    if (make == testing::InfinibandNode) continue;
    EXPECT_THAT(PairFailures(pair, Expecting(expect)), IsEmpty());
  }
}

TEST(CounterRules, GiveVerdictsOnlyAfterAWindow) {
  const Pair pair = Roce();
  EXPECT_GT(JudgeBetween(pair.before, pair.after).counts.pass(), Judge(pair.after).counts.pass());
  EXPECT_EQ(JudgeBetween(pair.after, pair.after).counts.pass(), Judge(pair.after).counts.pass());
}

struct Fault {
  const char* what;
  void (*plant)(Pair&);
  const char* rule;
  const char* title;
};

void Plant(Pair& pair, const char* neutral, std::uint64_t delta) {
  testing::Count(pair, 1, 0, neutral, delta);
}

constexpr Fault kFaults[] = {
    {"a pause storm, and all that comes with it",
     [](Pair& p) {
       Plant(p, "pfc_storm_events", 2);
       Plant(p, "pfc_tx_duration_us_prio3", 25'000'000);
       Plant(p, "rx_discards_prio3", 90'000);
     },
     "no_pause_storm", "2 pause storms in 30 s, expected none"},
    {"a victim of pauses", [](Pair& p) { Plant(p, "pfc_rx_duration_us_prio3", 12'000'000); },
     "pause_received_within_limit",
     "the switch paused priority 3 for 40.0 % of 30 s, expected at most 20 % of the time"},
    {"pauses of the whole link", [](Pair& p) { Plant(p, "pause_rx_duration_us", 7'000'000); },
     "pause_received_within_limit",
     "the switch paused the whole link for 23.3 % of 30 s, expected at most 20 % of the time"},
    {"a slow receiver, whose own port is paused in turn",
     [](Pair& p) {
       Plant(p, "pfc_tx_duration_us_prio3", 15'000'000);
       Plant(p, "pfc_rx_duration_us_prio3", 9'000'000);
     },
     "pause_sent_within_limit",
     "the host paused priority 3 for 50.0 % of 30 s, expected at most 20 % of the time"},
    {"pauses of a priority without PFC", [](Pair& p) { Plant(p, "pfc_rx_frames_prio4", 5000); },
     "pfc_frames_on_enabled_priorities", "the switch pauses priorities 4, PFC is on for 3"},
    {"drops in spite of PFC", [](Pair& p) { Plant(p, "rx_discards_prio3", 400); },
     "lossless_priority_keeps_packets",
     "priority 3 has PFC and lost packets on receipt: 400 packets in 30 s, expected none"},
    {"marks that nobody answers", [](Pair& p) { Plant(p, "ecn_marked_rx_packets", 50'000); },
     "congestion_marks_answered", "50000 marked packets and no CNP in 30 s, expected CNPs"},
    {"notifications that are ignored", [](Pair& p) { Plant(p, "cnp_rx_ignored", 20'000); },
     "cnps_obeyed",
     "congestion notifications: 20000 ignored, 0 obeyed in 30 s, expected most to be obeyed"},
    {"a path that is dead",
     [](Pair& p) {
       Plant(p, "ack_timeout", 900);
       Plant(p, "retry_exceeded", 128);
     },
     "acknowledgements_in_time",
     "acknowledgements are missing: 900 timeouts in 30 s, 128 requests given up"},
    {"loss that go-back-N multiplies",
     [](Pair& p) {
       Plant(p, "rdma_tx_packets", 10'000'000);
       Plant(p, "seq_nak_received", 300'000);
     },
     "packets_in_sequence",
     "peers missed 3 % of the packets sent (300000 of 10000000 packets), expected at most 1 %"},
    {"receivers that post too little",
     [](Pair& p) {
       Plant(p, "rdma_tx_packets", 10'000'000);
       Plant(p, "rnr_nak_received", 400'000);
     },
     "receivers_ready",
     "peers were not ready to receive 4 % of the packets (400000 of 10000000 packets), expected "
     "at most 1 %"},
    {"something that rewrites packets", [](Pair& p) { Plant(p, "icrc_errors", 44); },
     "roce_packets_intact",
     "RoCE packets with a bad invariant checksum: 44 packets in 30 s, expected none"},
    {"a bad cable, and what it costs",
     [](Pair& p) {
       Plant(p, "symbol_errors", 700);
       Plant(p, "fcs_errors", 300);
       Plant(p, "icrc_errors", 30);
       Plant(p, "ack_timeout", 900);
     },
     "link_errors_within_limit",
     "700 symbol_errors in 30 s, expected at most 120 an hour; 300 fcs_errors in 30 s, expected "
     "at most 120 an hour"},
    {"a flapping link, and what it costs",
     [](Pair& p) {
       Plant(p, "link_down_events", 3);
       Plant(p, "symbol_errors", 9000);
       Plant(p, "ack_timeout", 900);
     },
     "link_stays_up", "link went down 3 times in 30 s, expected to stay up"},
    {"blocks that error correction cannot correct",
     [](Pair& p) { Plant(p, "fec_uncorrectable_blocks", 61); }, "link_errors_within_limit",
     "61 fec_uncorrectable_blocks in 30 s, expected at most 60 an hour"},
    {"a dirty fibre, before the first lost packet",
     [](Pair& p) { Plant(p, "fec_corrected_bits", 900'000'000); }, "raw_bit_errors_within_limit",
     "bit error ratio before correction 0.0003 in 30 s, expected at most 0.00024"},
    {"a hot module", [](Pair& p) { Plant(p, "module_high_temperatures", 1); },
     "module_reports_no_fault", "the module was too hot 1 times in 30 s, expected never"},
    {"a module that does not answer", [](Pair& p) { Plant(p, "module_bus_errors", 2); },
     "module_reports_no_fault",
     "the module did not answer on its management bus 2 times in 30 s, expected never"},
    {"a host that is slower than its link",
     [](Pair& p) { Plant(p, "pcie_write_stall_events", 27); }, "pcie_not_stalled",
     "PCIe writes of the card were stalled for 90 % of 30 s, expected at most 50 % of the time"},
    {"pauses that do not end", [](Pair& p) { Plant(p, "pfc_rx_duration_us_prio3", 29'500'000); },
     "no_pause_deadlock",
     "the switch paused priority 3 for 98 % of 30 s, nothing sent, expected pauses to end"},
    {"an application that posts too little",
     [](Pair& p) {
       Plant(p, "rdma_rx_packets", 10'000'000);
       testing::CounterOfPort(p.after[1], 0, "out_of_buffer").set_value(1000 + 200'000);
     },
     "receives_posted",
     "2 % of the packets received found no receive posted (200000 of 10000000 packets), expected "
     "at most 1 %"},
    {"a receiver that ended", [](Pair& p) { Plant(p, "rnr_retry_exceeded", 16); },
     "receivers_answer",
     "requests given up because the receiver was not ready: 16 in 30 s, expected none"},
    {"a card that is loose in its slot", [](Pair& p) { Plant(p, "pcie_rx_signal_errors", 60); },
     "pcie_link_without_errors",
     "PCIe link of the card retrained because of errors 60 times in 30 s, expected at most 10 an "
     "hour"},
};

TEST(CounterRules, ReportOneFindingForEachFault) {
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.what);
    Pair pair = Roce(3, 4);
    fault.plant(pair);
    const v1::Finding finding = ThePairFailure(pair);
    EXPECT_EQ(finding.rule(), fault.rule);
    EXPECT_EQ(finding.title(), fault.title);
    EXPECT_EQ(finding.subject().device(), "mlx5_0");
    EXPECT_EQ(finding.subject().node(), "n2");
    EXPECT_GT(finding.remedies_size(), 0);
  }
}

TEST(RawBitErrors, HaveALowerLimitOnLanesOf25Gigabits) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "fec_corrected_bits", 300'000'000);
  EXPECT_THAT(PairFailures(pair), IsEmpty());
  for (auto& node : pair.after)
    for (std::uint32_t rail = 0; rail < 2; ++rail) testing::NetdevOf(node, rail).set_lanes(4);
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.title(),
            "bit error ratio before correction 0.0001 in 30 s, expected at most 5e-05");
  EXPECT_EQ(finding.evidence(1).basis(), "trend: the same over a longer time");
}

TEST(RawBitErrors, HaveALimitOfTheProfileAndAreUnknownWithoutTheCounter) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "fec_corrected_bits", 3'000'000);
  v1::Expectations expect;
  expect.set_raw_ber_max(1e-7);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).evidence(0).basis(), "profile test");
  testing::CounterOf(pair.after[1], 0, "fec_corrected_bits").set_neutral("other");
  EXPECT_THAT(Unknowns(pair.after, Expecting(expect)),
              ElementsAre("raw_bit_errors_within_limit n2/mlx5_0/1"));
}

TEST(RawBitErrors, ComeFromTheNetdevOnInfiniband) {
  Pair pair = PairOf(Nodes(3, testing::InfinibandNode, {}));
  for (auto* nodes : {&pair.before, &pair.after})
    testing::AddNetdevCounter((*nodes)[1], 0, "fec_corrected_bits");
  testing::Count(pair, 1, 0, "fec_corrected_bits", 900'000'000);
  EXPECT_EQ(ThePairFailure(pair).rule(), "raw_bit_errors_within_limit");
}

TEST(Adaptive, RetransmissionsAreLossOnALosslessFabric) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "adaptive_retrans", 150);
  EXPECT_THAT(PairFailures(pair), IsEmpty());
  v1::Expectations expect;
  expect.set_lossless(true);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).rule(), "lossless_without_retransmissions");
  testing::Count(pair, 0, 0, "ack_timeout", 900);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).rule(), "acknowledgements_in_time");
}

TEST(CongestionCounters, ThatAreMissingAreReported) {
  Pair pair = Roce();
  testing::CounterOfPort(pair.after[1], 0, "cnp_tx_packets").clear_neutral();
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.rule(), "congestion_counters_present");
  EXPECT_EQ(finding.subject().node(), "n2");
}

TEST(Credits, AreComparedWithPeersOrWithTheProfile) {
  Pair pair = PairOf(Nodes(1, testing::InfinibandNode, {.rails = 4}));
  testing::Count(pair, 0, 1, "credit_wait", 9'000'000'000);
  EXPECT_EQ(ThePairFailure(pair).title(),
            "300000000 ticks a second waited for credits, the 3 other ports of its kind at most 0");
  v1::Expectations expect;
  expect.set_xmit_wait_max_percent(25);
  EXPECT_THAT(PairFailures(pair, Expecting(expect)), IsEmpty());
  expect.set_xmit_wait_max_percent(5);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).title(),
            "waited for credits for 19.2 % of 30 s, expected at most 5 %");
}

TEST(ErrorRegisters, AtTheirMaximumAreReportedWithTheReset) {
  Pair pair = PairOf(Nodes(2, testing::InfinibandNode, {}));
  for (auto* nodes : {&pair.before, &pair.after}) {
    v1::Counter& counter = testing::CounterOf((*nodes)[1], 0, "symbol_errors");
    counter.set_name("symbol_error");
    counter.set_value(65535);
    counter.set_saturated(true);
  }
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.rule(), "error_registers_count");
  EXPECT_EQ(finding.title(),
            "symbol_error at the maximum, expected registers that count: further errors are not "
            "visible");
  EXPECT_EQ(finding.remedies(0).command(), "perfquery -C mlx5_0 -P 1 -R");
}

TEST(CounterRules, IgnoreResetRegisters) {
  for (const Fault& fault : kFaults) {
    SCOPED_TRACE(fault.what);
    Pair pair = Roce(3, 4);
    fault.plant(pair);
    for (const char* neutral : {"tx_discards", "rdma_rx_packets"})  // One of each source
      testing::CounterOf(pair.after[1], 0, neutral).set_value(0);
    EXPECT_THAT(PairFailures(pair), IsEmpty());
  }
}

TEST(CounterRules, IgnoreUnusedPorts) {
  v1::Expectations unused;
  unused.set_unused(true);
  for (const Fault& fault : kFaults) {
    Pair pair = Roce(3, 4);
    fault.plant(pair);
    EXPECT_THAT(PairFailures(pair, Expecting(unused)), IsEmpty()) << fault.what;
  }
}

TEST(Pauses, HaveALimitOfTheProfile) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "pfc_rx_duration_us_prio3", 600'000);
  v1::Expectations expect;
  expect.set_pause_max_percent(1);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).evidence(0).basis(), "profile test");
  expect.set_pause_max_percent(3);
  EXPECT_THAT(PairFailures(pair, Expecting(expect)), IsEmpty());
}

TEST(CnpShare, IsJudgedOnlyWithAProfile) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "rdma_tx_packets", 10'000'000);
  testing::Count(pair, 0, 0, "cnp_rx_handled", 400'000);
  EXPECT_THAT(PairFailures(pair), IsEmpty());
  v1::Expectations expect;
  expect.set_cnp_max_percent(1);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).title(),
            "congestion notifications for 4 % of the packets sent, expected at most 1 % (profile "
            "test)");
}

TEST(Sequence, IsStricterWhereRoceIsLossless) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "rdma_tx_packets", 10'000'000);
  testing::Count(pair, 0, 0, "seq_nak_received", 50'000);
  EXPECT_THAT(PairFailures(pair), IsEmpty());
  v1::Expectations expect;
  expect.set_lossless(true);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).rule(), "packets_in_sequence");
}

TEST(LinkErrors, ComeFromThePortOnInfiniband) {
  Pair pair = PairOf(Nodes(3, testing::InfinibandNode, {}), 3600);
  for (const char* neutral : {"symbol_errors", "link_error_recoveries", "rx_errors"})
    testing::Count(pair, 2, 1, neutral, 10);
  EXPECT_THAT(PairFailures(pair), IsEmpty()) << "as the specification allows";
  testing::Count(pair, 2, 1, "link_error_recoveries", 1);
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.title(), "11 link_error_recoveries in 60 min, expected at most 10 an hour");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("perfquery"));
}

TEST(LinkErrors, HaveALimitOfTheProfile) {
  Pair pair = PairOf(Nodes(3, testing::InfinibandNode, {}));
  testing::Count(pair, 2, 1, "symbol_errors", 20);
  v1::Expectations expect;
  expect.set_symbol_errors_max_per_hour(10);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).evidence(0).basis(), "profile test");
}

TEST(LinkErrors, HaveABitErrorRatioOfTheProfile) {
  Pair pair = PairOf(Nodes(3, testing::InfinibandNode, {}), 3600);
  testing::Count(pair, 2, 1, "symbol_errors", 50);
  v1::Expectations expect;
  expect.set_ber_max(1e-12);
  EXPECT_THAT(PairFailures(pair, Expecting(expect)), IsEmpty()) << "360 an hour at 100 Gb/s";
  expect.set_ber_max(1e-13);
  EXPECT_EQ(ThePairFailure(pair, Expecting(expect)).title(),
            "50 symbol_errors in 60 min, expected at most 36 an hour");
}

TEST(LinkErrors, AreAveragedToAnHour) {
  Pair pair = PairOf(Nodes(3, testing::InfinibandNode, {}), 10 * 3600);
  testing::Count(pair, 0, 0, "symbol_errors", 1000);
  EXPECT_THAT(PairFailures(pair), IsEmpty());
}

TEST(LinkStaysUp, OnceIsMaintenance) {
  Pair pair = Roce();
  testing::Count(pair, 0, 0, "link_down_events", 1);
  testing::Count(pair, 0, 0, "symbol_errors", 5000);
  EXPECT_THAT(PairFailures(pair), IsEmpty()) << "a link that trains counts errors";
}

TEST(Discards, OfOnePortAreComparedWithItsPeers) {
  Pair pair = Roce(1, 4);
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    testing::Count(pair, 0, rail, "rx_discards", rail == 2 ? 90'000 : 60);
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.rule(), "discards_like_equals");
  EXPECT_EQ(finding.title(),
            "3000 packets a second dropped on receipt, the 3 other ports of its kind at most 2");
  EXPECT_EQ(finding.subject().device(), "mlx5_2");
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    testing::Count(pair, 0, rail, "rx_discards", 50'000);
  EXPECT_THAT(PairFailures(pair), IsEmpty()) << "all carry the same load";
}

TEST(RdmaOnLosslessPriority, AFewMissingBytesCountWhereALossyPriorityHasThem) {
  struct Case {
    std::uint64_t rdma;
    std::uint64_t lossless;
    std::uint64_t lossy;
    bool fails;
  };
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  constexpr Case kCases[] = {
      {200 * kGigabyte, 190 * kGigabyte, 11 * kGigabyte, true},
      {200 * kGigabyte, 190 * kGigabyte, 2 * kGigabyte, false},   // Another reading time
      {200 * kGigabyte, 204 * kGigabyte, 90 * kGigabyte, false},  // TCP on priority 0
      {200 * kGigabyte, 190 * kGigabyte, 90 * kGigabyte, false},  // Another time, and TCP
      {200 * kGigabyte, 195 * kGigabyte, 6 * kGigabyte, false},   // Headers
      {40 * kGigabyte, 38 * kGigabyte, 2 * kGigabyte, false},     // Few bytes
      {40 * kGigabyte, 35 * kGigabyte, 5 * kGigabyte, true},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.lossless);
    Pair pair = Roce();
    testing::Count(pair, 0, 0, "rdma_tx_bytes", one.rdma);
    testing::Count(pair, 0, 0, "tx_bytes_prio3", one.lossless);
    testing::Count(pair, 0, 0, "tx_bytes_prio0", one.lossy);
    EXPECT_EQ(!PairFailures(pair).empty(), one.fails);
    for (auto& node : pair.after)
      for (auto& netdev : *node.mutable_net_interfaces()) netdev.set_driver("bnxt_en");
    const bool much = one.lossless < one.rdma - one.rdma / 10;
    EXPECT_EQ(!PairFailures(pair).empty(), much) << "may count headers for RDMA";
  }
}

TEST(RdmaOnLosslessPriority, NeedsSettingsThatWouldCarryIt) {
  Pair pair = Roce();
  testing::Busy(pair, 0, 0);
  testing::CounterOf(pair.after[0], 0, "tx_bytes_prio3").set_value(1000);
  const v1::Finding finding = ThePairFailure(pair);
  EXPECT_EQ(finding.rule(), "rdma_on_lossless_priority");
  EXPECT_EQ(finding.title(),
            "0 % of 93.3 Gb/s of RDMA uses priorities with PFC (3), most of the rest "
            "priority 0");
  for (auto& node : pair.after)
    for (std::uint32_t rail = 0; rail < 2; ++rail) testing::TrustPcp(node, rail);
  EXPECT_THAT(PairFailures(pair), ::testing::Each(HasSubstr("pfc_covers_roce_dscp")));
}

// A sender that is paused for 40 % of the time, with and without congestion notifications.
Pair Paused(bool notified) {
  Pair pair = Roce();
  testing::Busy(pair, 1, 0);
  Plant(pair, "pfc_rx_duration_us_prio3", 10'500'000);
  for (const char* const cnps : {"cnp_rx_handled", "cnp_rx_ignored"})
    if (!notified) testing::CounterOf(pair.after[1], 0, cnps).set_value(1000);  // As before
  return pair;
}

TEST(EcnActsBeforePfc, FailsOnPausesWithoutNotifications) {
  v1::Expectations expect;
  expect.set_ecn(true);
  const Pair pair = Paused(false);
  const Evaluation judged = JudgeBetween(pair.before, pair.after, Expecting(expect));
  const auto failed = std::ranges::find(judged.findings, "ecn_acts_before_pfc", &v1::Finding::rule);
  ASSERT_NE(failed, judged.findings.end());
  EXPECT_EQ(
      failed->title(),
      "congestion notifications: none in 30 s, paused for 40.0 % of the time, expected ECN to act "
      "before PFC (profile test)");
  EXPECT_EQ(failed->subject().node(), "n2");
}

TEST(EcnActsBeforePfc, PassesWithNotifications) {
  v1::Expectations expect;
  expect.set_ecn(true);
  const Pair pair = Paused(true);
  EXPECT_THAT(PairFailures(pair, Expecting(expect)),
              ElementsAre("pause_received_within_limit n2/mlx5_0/1"));
}

TEST(EcnActsBeforePfc, DoesNotApplyWithoutAProfile) {
  const Pair pair = Paused(false);
  EXPECT_THAT(PairFailures(pair), ElementsAre("pause_received_within_limit n2/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
