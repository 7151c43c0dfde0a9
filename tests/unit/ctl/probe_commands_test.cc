// The commands probe run, probe list, probe show and matrix.
#include <gtest/gtest.h>

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
  campaign.add_skipped("n3/rxe0/1: port is DOWN");
  return campaign;
}

TEST(Matrix, OfEveryRailAndKind) {
  FakeController controller;
  controller.campaigns.add_campaigns()->set_id("c7");
  controller.campaigns.add_campaigns()->set_id("c6");
  controller.campaign = {Finished()};
  const Said said = RunWords("matrix", controller);
  EXPECT_TRUE(MatchesGolden("ctl/matrix", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  ASSERT_EQ(controller.campaign_requests.size(), 1u);
  EXPECT_EQ(controller.campaign_requests[0].id(), "c7") << "the newest";
  EXPECT_EQ(RunWords("matrix -o name", controller).out, "c1\n");
}

TEST(Matrix, SlowFabricsAreMeasuredInMegabits) {
  FakeController controller;
  controller.campaign = {Empty(v1::CAMPAIGN_STATE_DONE)};
  *controller.campaign[0].add_results() = Bandwidth("n1", "n2", 0, 14.69e6);
  *controller.campaign[0].add_results() = Bandwidth("n2", "n3", 0, 998e6);
  EXPECT_TRUE(
      MatchesGolden("ctl/matrix_megabits", RunWords("matrix c1 --kind bandwidth", controller).out));
  EXPECT_EQ(controller.campaign_requests[0].id(), "c1");
}

TEST(Matrix, KindAppliesToEveryFormat) {
  FakeController controller;
  controller.campaign = {Finished()};
  const Said said = RunWords("matrix c1 --kind latency -o json", controller);
  EXPECT_NE(said.out.find("rc_write_latency"), std::string::npos);
  EXPECT_EQ(said.out.find("rc_write_bandwidth"), std::string::npos);
}

TEST(Matrix, WithoutACampaignSaysHowToGetOne) {
  FakeController controller;
  const Said said = RunWords("matrix", controller);
  EXPECT_EQ(said.err, "fabricctl: no campaigns: start one with fabricctl probe run\n");
  EXPECT_EQ(said.status, kExitError);
}

TEST(ProbeShow, PairByPair) {
  FakeController controller;
  controller.campaign = {Finished()};
  const Said said = RunWords("probe show c1", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_show", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_TRUE(
      MatchesGolden("ctl/probe_show_wide", RunWords("probe show c1 -o wide", controller).out));
}

TEST(ProbeList, NewestFirstAsTheControllerSays) {
  FakeController controller;
  *controller.campaigns.add_campaigns() = Finished();
  *controller.campaigns.add_campaigns() = Empty(v1::CAMPAIGN_STATE_CANCELLED);
  const Said said = RunWords("probe list", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_list", said.out));
  EXPECT_EQ(said.status, kExitOk);
}

TEST(ProbeRun, WaitsForTheEndAndShowsTheResults) {
  FakeController controller;
  const v1::Campaign running = Empty(v1::CAMPAIGN_STATE_RUNNING);
  controller.campaign = {running, running, Empty(v1::CAMPAIGN_STATE_DONE), Finished()};
  const Said said = RunWords("probe run", controller);
  EXPECT_TRUE(MatchesGolden("ctl/probe_show", said.out));
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.status, kExitFindings);
  ASSERT_EQ(controller.campaign_requests.size(), 3u);
  EXPECT_TRUE(controller.campaign_requests[1].omit_results());
  EXPECT_FALSE(controller.campaign_requests[2].omit_results());
  EXPECT_EQ(controller.start_request.spec().probes_size(), 2);
}

TEST(ProbeRun, OptionsMakeTheSpec) {
  FakeController controller;
  controller.campaign = {Empty(v1::CAMPAIGN_STATE_RUNNING)};
  const Said said = RunWords(
      "probe run --nodes n1,n2 --rails 0,3 --kind latency --iterations 500 --bytes 64 "
      "--probe-timeout 2s --no-wait",
      controller);
  const v1::CampaignSpec expected = FromText<v1::CampaignSpec>(R"({
    "nodes": ["n1", "n2"], "rails": [0, 3], "probes": [
      {"rc_write_latency": {"iterations": 500, "message_bytes": 64}, "timeout_ms": 2000}]})");
  EXPECT_EQ(ToJson(controller.start_request.spec(), false), ToJson(expected, false));
  EXPECT_EQ(said.out, "campaign c1: running, 8 probes in 3 rounds: 0 ok, 0 failed\n");
  EXPECT_TRUE(controller.campaign_requests.empty());
}

TEST(ProbeRun, ProgressIsForTerminalsOnly) {
  FakeController controller;
  controller.campaign = {Empty(v1::CAMPAIGN_STATE_RUNNING), Finished()};
  const Said said = RunWords("probe run", controller, {.progress = true});
  EXPECT_EQ(said.err, "\rcampaign c1: 0 of 8 probes, 0 failed\x1b[K\r\x1b[K");
}

TEST(ProbeRun, AnInterruptCancelsTheCampaign) {
  FakeController controller;
  controller.campaign = {Empty(v1::CAMPAIGN_STATE_RUNNING), Empty(v1::CAMPAIGN_STATE_CANCELLED)};
  const Said said = RunWords("probe run", controller, {.interrupted = true});
  EXPECT_EQ(controller.cancel_request.id(), "c1");
  EXPECT_EQ(
      said.err,
      "fabricctl: interrupted; campaign c1 is cancelled, its results so far: probe show c1\n");
  EXPECT_EQ(said.status, kExitError);
}

}  // namespace
}  // namespace fabric::ctl
