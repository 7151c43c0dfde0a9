// The commands probe run, probe list, probe show and matrix.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;

v1::PairResult Pair(std::string_view from, std::string_view to, std::uint32_t rail) {
  v1::PairResult pair;
  for (auto [port, name] :
       {std::pair(pair.mutable_from(), from), std::pair(pair.mutable_to(), to)}) {
    port->set_node(std::string(name));
    port->set_device(Format("rxe{}", rail));
    port->set_port(1);
    port->set_rail(rail);
  }
  pair.set_round(1);
  pair.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  pair.mutable_result()->set_path_mtu_bytes(4096);
  return pair;
}

v1::PairResult Latency(std::string_view from, std::string_view to, std::uint32_t rail, double us) {
  v1::PairResult pair = Pair(from, to, rail);
  pair.mutable_probe()->mutable_rc_write_latency()->set_message_bytes(8);
  v1::LatencySummary& latency = *pair.mutable_result()->mutable_latency();
  latency.set_min_us(us * 0.9);
  latency.set_median_us(us);
  latency.set_p99_us(us * 2);
  latency.set_max_us(us * 10);
  return pair;
}

v1::PairResult Bandwidth(std::string_view from, std::string_view to, std::uint32_t rail,
                         double bps) {
  v1::PairResult pair = Pair(from, to, rail);
  pair.mutable_probe()->mutable_rc_write_bandwidth();
  pair.mutable_result()->mutable_bandwidth()->set_mean_bps(bps);
  return pair;
}

v1::PairResult Failed(v1::PairResult pair, v1::ProbeStatus status, std::string reason) {
  pair.mutable_result()->Clear();
  pair.mutable_result()->set_status(status);
  pair.mutable_result()->set_reason(std::move(reason));
  return pair;
}

v1::Campaign Empty(v1::CampaignState state) {
  v1::Campaign campaign;
  campaign.set_id("c1");
  campaign.set_state(state);
  campaign.set_rounds(3);
  campaign.set_probes_planned(8);
  return campaign;
}

v1::Campaign Finished() {
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  for (v1::PairResult& pair : std::vector<v1::PairResult>{
           Latency("n2", "n10", 0, 113.482), Latency("n1", "n10", 0, 98.21),
           Latency("n1", "n2", 0, 101.5), Latency("n1", "n2", 1, 9.876),
           Bandwidth("n1", "n2", 0, 1.469e9), Bandwidth("n1", "n10", 0, 6.5e8),
           Failed(Bandwidth("n2", "n10", 0, 0), v1::PROBE_STATUS_TIMED_OUT,
                  "no completion within 10 s"),
           Failed(Latency("n10", "n1", 1, 0), v1::PROBE_STATUS_UNREACHABLE,
                  "n10 is not connected")})
    *campaign.add_results() = std::move(pair);
  campaign.set_probes_ok(6);
  campaign.set_probes_failed(2);
  *campaign.add_skipped() = FromText<v1::CoverageGap>(
      R"({"reason": "COVERAGE_GAP_REASON_PORT_NOT_ACTIVE", "text": "port is DOWN", "node": "n3",
          "device": "rxe0", "port": 1})");
  return campaign;
}

TEST(Matrix, OfEveryRailAndKind) {
  FakeController controller;
  controller.Answer<v1::ListCampaignsResponse>().add_campaigns()->set_id("c7");
  controller.Answer<v1::ListCampaignsResponse>().add_campaigns()->set_id("c6");
  controller.Answers<v1::Campaign>() = {Finished()};
  const Said said = RunWords("matrix", controller);
  EXPECT_TRUE(MatchesGolden("ctl/matrix", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  ASSERT_EQ(controller.Requests<v1::GetCampaignRequest>().size(), 1u);
  EXPECT_EQ(controller.Requests<v1::GetCampaignRequest>()[0].id(), "c7") << "the newest";
  EXPECT_EQ(RunWords("matrix -o name", controller).out, "c1\n");
}

TEST(Matrix, SlowFabricsAreMeasuredInMegabits) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_DONE)};
  *controller.Answer<v1::Campaign>().add_results() = Bandwidth("n1", "n2", 0, 14.69e6);
  *controller.Answer<v1::Campaign>().add_results() = Bandwidth("n2", "n3", 0, 998e6);
  EXPECT_TRUE(
      MatchesGolden("ctl/matrix_megabits", RunWords("matrix c1 --kind bandwidth", controller).out));
  EXPECT_EQ(controller.Requests<v1::GetCampaignRequest>()[0].id(), "c1");
}

// Pairs of six nodes with the bandwidth of the table, and one failed pair.
FakeController WithHeat() {
  FakeController controller;
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  const double gigabits[] = {400, 390, 340, 250, 120};
  int n = 0;
  for (const char* to : {"n2", "n3", "n4", "n5", "n6"})
    *campaign.add_results() = Bandwidth("n1", to, 0, gigabits[n++] * 1e9);
  *campaign.add_results() =
      Failed(Bandwidth("n2", "n3", 0, 0), v1::PROBE_STATUS_TIMED_OUT, "no completion");
  controller.Answers<v1::Campaign>() = {campaign};
  return controller;
}

TEST(Matrix, HeatComparesWithTheMedian) {
  FakeController controller = WithHeat();
  EXPECT_TRUE(MatchesGolden("ctl/matrix_heat", RunWords("matrix c1 --heat", controller).out));
}

TEST(Matrix, HeatShowsTheWorstOfSeveralResultsOfAPair) {
  FakeController controller = WithHeat();
  v1::Campaign campaign = controller.Answers<v1::Campaign>()[0];
  *campaign.add_results() = Bandwidth("n2", "n3", 0, 400e9);
  campaign.mutable_results()->rbegin()->set_round(1);
  controller.Answers<v1::Campaign>() = {campaign};
  const std::string said = RunWords("matrix c1 --heat", controller).out;
  EXPECT_NE(said.find("2  n2    ····XX"), std::string::npos) << said;
}

TEST(Matrix, ShowsTheWorstOfSeveralResultsOfAPair) {
  FakeController controller = WithHeat();
  v1::Campaign campaign = controller.Answers<v1::Campaign>()[0];
  *campaign.add_results() = Bandwidth("n1", "n2", 0, 50e9);
  *campaign.add_results() = Bandwidth("n1", "n2", 0, 399e9);
  *campaign.add_results() = Bandwidth("n2", "n3", 0, 400e9);
  v1::PairResult both = Bandwidth("n4", "n3", 0, 300e9);
  both.mutable_result()->mutable_reverse_bandwidth()->set_mean_bps(200e9);
  *campaign.add_results() = both;
  *campaign.add_results() = Bandwidth("n3", "n4", 0, 390e9);
  for (int n = 0; n < campaign.results_size(); ++n)
    campaign.mutable_results(n)->set_round(static_cast<std::uint32_t>(n));
  controller.Answers<v1::Campaign>() = {campaign};
  const std::string csv = RunWords("matrix c1 -o csv", controller).out;
  EXPECT_NE(csv.find("n1,,50.0,390.0,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("n2,,,timeout,"), std::string::npos) << "a success hides no failure: " << csv;
  EXPECT_NE(csv.find("n3,,,,200.0,"), std::string::npos) << "of both directions: " << csv;
}

TEST(Matrix, OfLatencyShowsTheLargestAndOfPingsTheMostLossyResult) {
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  const auto add = [&](double median_us, std::uint32_t lost) {
    v1::PairResult& pair = *campaign.add_results();
    pair.mutable_from()->set_node("n1");
    pair.mutable_to()->set_node("n2");
    pair.mutable_probe()->mutable_ud_ping();
    pair.set_round(static_cast<std::uint32_t>(campaign.results_size()));
    pair.mutable_result()->set_status(v1::PROBE_STATUS_OK);
    v1::PingSummary& ping = *pair.mutable_result()->mutable_ping();
    ping.set_answered(100 - lost);
    ping.set_lost(lost);
    ping.mutable_network_round_trip()->set_median_us(median_us);
  };
  FakeController controller;
  const auto csv = [&] {
    controller.Answers<v1::Campaign>() = {campaign};
    return RunWords("matrix c1 -o csv", controller).out;
  };
  add(9, 0);
  add(5, 0);
  EXPECT_NE(csv().find("n1,,9.00\n"), std::string::npos) << csv();
  add(4, 3);
  add(4, 1);
  EXPECT_NE(csv().find("n1,,4.00 -3\n"), std::string::npos) << csv();
  EXPECT_NE(csv().find("n2,4.00 -3,\n"), std::string::npos) << "the same round trip: " << csv();
  campaign.add_results()->CopyFrom(campaign.results(0));
  campaign.mutable_results()->rbegin()->mutable_from()->set_node("n2");
  campaign.mutable_results()->rbegin()->mutable_to()->set_node("n1");
  EXPECT_NE(csv().find("n2,9.00,\n"), std::string::npos) << "its own measurement: " << csv();
}

TEST(Matrix, HeatHasColoursOnATerminalAndAsciiWithoutUtf8) {
  FakeController controller = WithHeat();
  const std::string coloured = RunWords("matrix c1 --heat", controller, {.colour = true}).out;
  EXPECT_NE(coloured.find("\x1b[32m░░\x1b[0m"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\x1b[31m██\x1b[0m"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\x1b[35mXX\x1b[0m"), std::string::npos) << coloured;
  const std::string ascii = RunWords("matrix c1 --heat", controller, {.ascii = true}).out;
  EXPECT_NE(ascii.find("1  n1      ......::##"), std::string::npos) << ascii;
  EXPECT_TRUE(std::ranges::all_of(ascii, [](char c) { return c > 0; })) << ascii;
}

TEST(Matrix, CsvHasTheNumbersOfAllNodesOnce) {
  FakeController controller;
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  for (int n = 2; n <= 15; ++n)
    *campaign.add_results() = Bandwidth("n1", Format("n{}", n), 0, 400e9);
  controller.Answers<v1::Campaign>() = {campaign};
  const std::string csv = RunWords("matrix c1 --heat -o csv", controller).out;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 16) << csv;
  EXPECT_NE(csv.find("n1,,400.0,400.0,"), std::string::npos) << csv;
  const std::string table = RunWords("matrix c1", controller).out;
  EXPECT_NE(table.find("the worst 12 of 15 nodes"), std::string::npos) << table;
  EXPECT_EQ(RunWords("matrix c1 -o wide", controller).out.find("the worst"), std::string::npos);
}

TEST(Matrix, KindAppliesToEveryFormat) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Finished()};
  const Said said = RunWords("matrix c1 --kind latency -o json", controller);
  EXPECT_NE(said.out.find("rc_write_latency"), std::string::npos);
  EXPECT_EQ(said.out.find("rc_write_bandwidth"), std::string::npos);
}

TEST(Matrix, WithoutACampaignSaysHowToGetOne) {
  FakeController controller;
  const Said said = RunWords("matrix", controller);
  EXPECT_EQ(said.err, "fabricctl: no campaigns; start one with `fabricctl probe run`\n");
  EXPECT_EQ(said.status, kExitError);
}

TEST(ProbeShow, PairByPair) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Finished()};
  const Said said = RunWords("probe show c1", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_show", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_TRUE(
      MatchesGolden("ctl/probe_show_wide", RunWords("probe show c1 -o wide", controller).out));
}

// All pairs of 12 nodes; `reason` gives that of each.
v1::Campaign AllFail(std::string (*reason)(int from, int to)) {
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  for (int from = 1; from <= 12; ++from)
    for (int to = 1; to <= 12; ++to)
      if (from != to)
        *campaign.add_results() = Failed(Bandwidth(Format("n{}", from), Format("n{}", to), 0, 0),
                                         v1::PROBE_STATUS_SETUP_FAILED, reason(from, to));
  return campaign;
}

TEST(ProbeShow, ManyResultsAreSummarized) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {
      AllFail([](int, int to) { return Format("n{}: verbs need the live machine", to); })};
  const std::string out = RunWords("probe show c1", controller).out;
  EXPECT_NE(out.find("132     12  rc_write_bandwidth  setup failed"), out.npos) << out;
  EXPECT_NE(out.find("NODE: verbs need the live machine\n"), out.npos) << out;
  EXPECT_NE(out.find("132 results in all: -o wide\n"), out.npos) << out;
  EXPECT_LT(std::ranges::count(out, '\n'), 12) << out;
  const std::string wide = RunWords("probe show c1 -o wide", controller).out;
  EXPECT_GT(std::ranges::count(wide, '\n'), 132);
}

TEST(ProbeShow, ASummarySaysHowManyReasonsItOmits) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {
      AllFail([](int from, int to) { return Format("reason {}", (from + to) % 15); })};
  const std::string out = RunWords("probe show c1", controller).out;
  EXPECT_NE(out.find("failures: the 12 most frequent of 15 reasons\n"), out.npos) << out;
}

TEST(ProbeShow, ResultsComeInPages) {
  FakeController controller;
  v1::Campaign bare = Finished();
  controller.Answers<v1::ListCampaignResultsResponse>() =
      std::vector<v1::ListCampaignResultsResponse>(3);
  auto& pages = controller.Answers<v1::ListCampaignResultsResponse>();
  for (int n = 0; n < bare.results_size(); ++n)
    *pages[static_cast<std::size_t>(n % 3)].add_results() = bare.results(n);
  pages[0].set_next_page_token("one");
  pages[1].set_next_page_token("two");
  bare.clear_results();
  controller.Answers<v1::Campaign>() = {bare};
  EXPECT_TRUE(MatchesGolden("ctl/probe_show", RunWords("probe show c1", controller).out));
  const auto requests = controller.Requests<v1::ListCampaignResultsRequest>();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].page_token(), "");
  EXPECT_EQ(requests[2].page_token(), "two");
  pages[1].set_next_page_token("one");
  EXPECT_EQ(RunWords("probe show c1", controller).err,
            "fabricctl: the controller sent the same page twice\n");
}

TEST(ProbeList, NewestFirstAsTheControllerSays) {
  FakeController controller;
  *controller.Answer<v1::ListCampaignsResponse>().add_campaigns() = Finished();
  *controller.Answer<v1::ListCampaignsResponse>().add_campaigns() =
      Empty(v1::CAMPAIGN_STATE_CANCELLED);
  const Said said = RunWords("probe list", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_list", said.out));
  EXPECT_EQ(said.status, kExitOk);
}

TEST(ProbeRun, WaitsForTheEndAndShowsTheResults) {
  FakeController controller;
  const v1::Campaign running = Empty(v1::CAMPAIGN_STATE_RUNNING);
  controller.Answers<v1::Campaign>() = {running, running, Empty(v1::CAMPAIGN_STATE_DONE),
                                        Finished()};
  const Said said = RunWords("probe run", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_show", said.out));
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.status, kExitFindings);
  ASSERT_EQ(controller.Requests<v1::GetCampaignRequest>().size(), 3u);
  EXPECT_EQ(controller.Requests<v1::ListCampaignResultsRequest>().size(), 1u);
  EXPECT_EQ(controller.LastRequest<v1::StartCampaignRequest>().spec().probes_size(), 2);
}

TEST(ProbeRun, OptionsMakeTheSpec) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_RUNNING)};
  const Said said = RunWords(
      "probe run --nodes n1,n2 --rails 0,3 --kind latency --iterations 500 --bytes 64 "
      "--probe-timeout 2s --no-wait",
      controller);
  const v1::CampaignSpec expected = FromText<v1::CampaignSpec>(R"({
    "nodes": ["n1", "n2"], "rails": [0, 3], "pattern": "CAMPAIGN_PATTERN_ALL_PAIRS", "probes": [
      {"rc_write_latency": {"iterations": 500, "message_bytes": 64}, "timeout_ms": 2000}]})");
  EXPECT_EQ(ToJson(controller.LastRequest<v1::StartCampaignRequest>().spec(), false),
            ToJson(expected, false));
  EXPECT_EQ(said.out, "campaign c1: running, 8 probes in 3 rounds: 0 ok, 0 failed\n");
  EXPECT_TRUE(controller.Requests<v1::GetCampaignRequest>().empty());
}

TEST(ProbeRun, ProgressIsForTerminalsOnly) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_RUNNING), Finished()};
  const Said said = RunWords("probe run", controller, {.progress = true});
  EXPECT_EQ(said.err, "\rcampaign c1: 0 of 8 probes, 0 failed\x1b[K\r\x1b[K");
}

TEST(ProbeRun, AnInterruptCancelsTheCampaign) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_RUNNING),
                                        Empty(v1::CAMPAIGN_STATE_CANCELLED)};
  const Said said = RunWords("probe run", controller, {.interrupted = true});
  EXPECT_EQ(controller.LastRequest<v1::CancelCampaignRequest>().id(), "c1");
  EXPECT_EQ(said.err,
            "fabricctl: interrupted; campaign c1 is cancelled; for its results use `fabricctl "
            "probe show c1`\n");
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_TRUE(said.catches_interrupts);
}

TEST(ProbeRun, WithoutWaitingInterruptsAreNotCaught) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_RUNNING)};
  EXPECT_FALSE(RunWords("probe run --no-wait", controller).catches_interrupts);
}

TEST(ProbeRun, OptionsOfPatternsAndKinds) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Empty(v1::CAMPAIGN_STATE_RUNNING)};
  const Said said = RunWords(
      "probe run --pattern random_regular --degree 6 --seed 7 --until-decided --pairs-at-once 9 "
      "--pairs-per-uplink 3 --include-busy --kind rc_read_bandwidth,ping,mtu --queue-pairs 4 "
      "--bidirectional --pings 50 --interval 2ms --flow-labels 1,2 --traffic-class 104 "
      "--gid-index 5 --no-wait",
      controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  const v1::CampaignSpec expected = FromText<v1::CampaignSpec>(R"({
    "pattern": "CAMPAIGN_PATTERN_RANDOM_REGULAR", "degree": 6, "seed": "7", "until_decided": true,
    "pairs_at_once": 9, "pairs_per_uplink": 3, "include_busy": true,
    "class_choice": {"traffic_class": 104, "gid_index": 5}, "probes": [
      {"rc_read_bandwidth": {"queue_pairs": 4, "bidirectional": true}, "traffic_class": 104,
       "queue_pair": {"gid_index": 5}},
      {"ud_ping": {"pings": 50, "interval_us": 2000, "flow_labels": [1, 2]}, "traffic_class": 104,
       "queue_pair": {"gid_index": 5}},
      {"path_mtu": {}, "traffic_class": 104, "queue_pair": {"gid_index": 5}}]})");
  EXPECT_EQ(ToJson(controller.LastRequest<v1::StartCampaignRequest>().spec(), false),
            ToJson(expected, false));
}

TEST(ProbeRun, RefusesWhatItCannotMean) {
  for (const auto& [words, says] : std::vector<std::pair<std::string, std::string>>{
           {"--kind latancy", "; did you mean 'latency'?"},
           {"--kind latency --pings 5", "--pings does not apply to --kind latency"},
           {"--kind ping --queue-pairs 5", "--queue-pairs does not apply to --kind ping"},
           {"--traffic-class 256", "--traffic-class: expected at most 255, saw '256'"},
           {"--pattern many-to-one", "--pattern many-to-one requires --hub"},
       }) {
    FakeController controller;
    const Said said = RunWords("probe run " + words, controller);
    EXPECT_EQ(said.status, kExitUsage) << words;
    EXPECT_NE(said.err.find(says), std::string::npos) << said.err;
  }
}

v1::Campaign OfOtherKinds() {
  v1::Campaign campaign = Empty(v1::CAMPAIGN_STATE_DONE);
  v1::PairResult ping = Pair("n1", "n2", 0);
  ping.mutable_probe()->mutable_ud_ping();
  *ping.mutable_result()->mutable_ping() = FromText<v1::PingSummary>(R"({
    "sent": 1000, "answered": 990, "lost": 9, "voided": 1,
    "network_round_trip": {"median_us": 5.25, "p99_us": 7.5},
    "responder_delay": {"median_us": 2}, "initiator_delay": {"median_us": 3},
    "flows": [{"flow_label": 1, "sent": 500}, {"flow_label": 2, "sent": 500, "lost": 9}]})");
  v1::PairResult mtu = Pair("n1", "n2", 0);
  mtu.mutable_probe()->mutable_path_mtu();
  *mtu.mutable_result() = FromText<v1::ProbeResult>(R"({"status": "PROBE_STATUS_OK",
    "mtu_steps": [{"mtu_bytes": 1024, "delivered": true}, {"mtu_bytes": 2048, "delivered": true},
                  {"mtu_bytes": 4096, "reason": "no completion"}]})");
  v1::PairResult both = Bandwidth("n2", "n1", 0, 80e9);
  both.mutable_result()->mutable_reverse_bandwidth()->set_mean_bps(40e9);
  for (const v1::PairResult& pair : {ping, mtu, both}) *campaign.add_results() = pair;
  campaign.set_rounds_done(2);
  campaign.set_rounds_saved(1);
  *campaign.mutable_blame() = FromText<v1::BlameReport>(R"({
    "state": "BLAME_STATE_UNDECIDED", "observations": 12,
    "suspects": [{"kind": "SUSPECT_KIND_PORT", "name": "n2/rxe0/1", "node": "n2", "leaf": "leaf1",
      "leaf_port": "swp2", "direction": "DIRECTION_OUT", "fault": "FAULT_KIND_LOW_BANDWIDTH",
      "severity": 0.5, "confidence": 0.993, "evidence": ["50 % of the bandwidth of its equals"],
      "findings": ["abc"]}],
    "undecided": [{"suspects": [
        {"kind": "SUSPECT_KIND_HOST", "name": "n7", "fault": "FAULT_KIND_TOTAL_LOSS",
         "confidence": 0.6},
        {"kind": "SUSPECT_KIND_LEAF_PAIR", "name": "leaf1 and leaf2",
         "fault": "FAULT_KIND_PACKET_LOSS", "severity": 0.001, "confidence": 0.4}],
      "probes": [{"from_node": "n7", "from_device": "rxe0", "from_port": 1, "to_node": "n3",
        "to_device": "rxe0", "to_port": 1, "reason": "n3 is good"}]}],
    "not_covered": [{"text": "port is DOWN", "node": "n9", "device": "rxe0", "port": 1}]})");
  return campaign;
}

TEST(ProbeShow, OtherKindsHaveTablesOfTheirOwnAndBlameStandsBelow) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {OfOtherKinds()};
  const Said said = RunWords("probe show c1", controller);
  EXPECT_EQ(said.status, kExitFindings) << "somebody is to blame";
  for (const std::string_view line :
       {"; located after 2 rounds, 1 saved\n",
        "RAIL  FROM       TO         STATUS  SENT  LOST     LOSS  VOIDED  MEDIAN µs  P99 µs  LOST "
        "BY FLOW LABEL  REASON\n",
        "0  n1/rxe0/1  n2/rxe0/1  lossy   1000     9  0.901 %       1       5.25    7.50  2: 9/500"
        "            -\n",
        "0  n1/rxe0/1  n2/rxe0/1  ok      1024 2048  4096     no completion\n", "80 Gb/s  40 Gb/s",
        "blame: not located (12 observations)\n"
        "  port n2/rxe0/1 (on leaf1 port swp2) is slower than its peers (50 %) when "
        "sending: confidence 99.3 %\n"
        "    50 % of the bandwidth of its equals\n"
        "    see finding abc\n"
        "  one of these (not distinguishable yet):\n"
        "    node n7 forwards no packets: confidence 60.0 %\n"
        "    path between leaf1 and leaf2 loses packets (0.1 %): confidence 40.0 %\n"
        "    next probe: n7/rxe0/1 to n3/rxe0/1: n3 is good\n"
        "  not covered: n9/rxe0/1: port is DOWN\n"})
    EXPECT_NE(said.out.find(line), std::string::npos) << line << "\nin\n" << said.out;
}

TEST(Matrix, OfOtherKindsAndBothDirections) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {OfOtherKinds()};
  const std::string out = RunWords("matrix c1", controller).out;
  for (const std::string_view line :
       {"rail 0: RC write bandwidth, Gb/s (rows: from, columns: to)\nFROM     n1     n2\n"
        "n1        -  40.00\nn2    80.00      -\n",
        "rail 0: UD ping, median network round trip, µs",
        "n1          -  5.25 -9\nn2    5.25 -9        -\n", "rail 0: path MTU, bytes",
        "n1     -  2048\n"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\nin\n" << out;
  EXPECT_EQ(RunWords("matrix c1 --kind mtu", controller).out.find("ping"), std::string::npos);
}

TEST(ProbeRun, ProgressTellsRoundsAndTime) {
  FakeController controller;
  v1::Campaign running = Empty(v1::CAMPAIGN_STATE_RUNNING);
  running.set_probes_ok(4);
  running.set_rounds_done(1);
  running.set_remaining_seconds(12.4);
  controller.Answers<v1::Campaign>() = {running, Finished()};
  EXPECT_EQ(RunWords("probe run", controller, {.progress = true}).err,
            "\rcampaign c1: 4 of 8 probes, 0 failed, round 1 of 3, 12 s left\x1b[K\r\x1b[K");
}

}  // namespace
}  // namespace fabric::ctl
