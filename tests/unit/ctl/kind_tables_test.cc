// probe run and probe show for incasts and the memory of GPUs.
#include "ctl/tables/kind_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

v1::Campaign Incast(v1::IncastVerdict verdict) {
  auto campaign = FromText<v1::Campaign>(R"({"id": "c3", "state": "CAMPAIGN_STATE_DONE",
    "rounds": 1, "probes_planned": 1, "probes_ok": 1,
    "results": [{"round": 1, "from": {"node": "n1", "device": "mlx5_0", "port": 1},
      "to": {"node": "n3", "device": "mlx5_0", "port": 1}, "probe": {"incast": {}},
      "result": {"status": "PROBE_STATUS_OK", "bandwidth": {"mean_bps": 4.5e10}}}],
    "incasts": [{"receiver": {"node": "n3", "device": "mlx5_0", "port": 1}, "senders": 2,
      "evidence": ["PFC received (priority 3 at the receiver): n1/mlx5_0/1 812"],
      "receiver_bps": 9.3e10, "counter_deltas": [
        {"port": {"node": "n3", "device": "mlx5_0", "port": 1},
         "missing": ["rx_discards", "tx_discards"]},
        {"port": {"node": "n1", "device": "mlx5_0", "port": 1}, "counters": [
          {"name": "ack_timeout", "before": 3, "after": 3},
          {"name": "pfc_rx_frames_prio3", "before": 188, "after": 1000}]}]}]})");
  campaign.mutable_incasts(0)->set_verdict(verdict);
  return campaign;
}

TEST(IncastTable, ShowsTheVerdictWithItsEvidence) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Incast(v1::INCAST_VERDICT_LOSSLESS)};
  const Said said = RunWords("probe show c3", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  for (const std::string_view line :
       {"incasts\nRECEIVER     RAIL  SENDERS  ARRIVED  VERDICT\n",
        "n3/mlx5_0/1     0        2  93 Gb/s  lossless: PFC paused the senders\n",
        "  PFC received (priority 3 at the receiver): n1/mlx5_0/1 812\n", "45 Gb/s"})
    EXPECT_NE(said.out.find(line), std::string::npos) << line << "\nin\n" << said.out;
  EXPECT_EQ(said.out.find("pfc_rx_frames_prio3"), std::string::npos) << "of wide output";
}

TEST(IncastTable, WideShowsWhatMovedAndWhatNobodyCounts) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {Incast(v1::INCAST_VERDICT_LOSSLESS)};
  const std::string out = RunWords("probe show c3 -o wide", controller).out;
  for (const std::string_view line :
       {"n3/mlx5_0/1  n3/mlx5_0/1  -                         -  rx_discards tx_discards\n",
        "n3/mlx5_0/1  n1/mlx5_0/1  pfc_rx_frames_prio3     812  -\n"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\nin\n" << out;
  EXPECT_EQ(out.find("ack_timeout"), std::string::npos) << "it did not move";
}

TEST(IncastTable, TheExitStatusIsOneWhenItWasNotLossless) {
  for (const v1::IncastVerdict verdict :
       {v1::INCAST_VERDICT_LOSS_WITHOUT_PFC, v1::INCAST_VERDICT_LOSS_DESPITE_PFC,
        v1::INCAST_VERDICT_GLOBAL_PAUSE}) {
    FakeController controller;
    controller.Answers<v1::Campaign>() = {Incast(verdict)};
    EXPECT_EQ(RunWords("probe show c3", controller).status, kExitFindings);
  }
  for (const v1::IncastVerdict verdict :
       {v1::INCAST_VERDICT_NO_CONGESTION, v1::INCAST_VERDICT_ECN_ONLY,
        v1::INCAST_VERDICT_UNKNOWN}) {
    FakeController controller;
    controller.Answers<v1::Campaign>() = {Incast(verdict)};
    EXPECT_EQ(RunWords("probe show c3", controller).status, kExitOk);
  }
}

TEST(IncastTable, EveryVerdictHasWordsOfItsOwn) {
  std::vector<std::string_view> words;
  for (int number = 1; number <= v1::IncastVerdict_MAX; ++number)
    words.push_back(VerdictWords(static_cast<v1::IncastVerdict>(number)));
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::unique(words.begin(), words.end()), words.end());
}

TEST(ProbeRunIncast, TheKindMakesThePattern) {
  for (const char* words : {"probe run --kind incast --hub n3 --duration 500ms --traffic-class 104 "
                            "--no-wait",
                            "probe run --pattern incast --hub n3 --duration 500ms "
                            "--traffic-class 104 --no-wait"}) {
    FakeController controller;
    controller.Answers<v1::Campaign>() = {Incast(v1::INCAST_VERDICT_UNKNOWN)};
    const Said said = RunWords(words, controller);
    EXPECT_EQ(said.status, kExitOk) << said.err;
    const v1::CampaignSpec spec = controller.LastRequest<v1::StartCampaignRequest>().spec();
    EXPECT_EQ(spec.pattern(), v1::CAMPAIGN_PATTERN_INCAST);
    EXPECT_EQ(spec.hub(), "n3");
    ASSERT_EQ(spec.probes_size(), 1);
    EXPECT_EQ(spec.probes(0).incast().duration_ms(), 500u);
    EXPECT_EQ(spec.probes(0).traffic_class(), 104u);
  }
}

TEST(ProbeRunIncast, RefusesWhatItCannotMean) {
  for (const auto& [words, says] : std::vector<std::pair<std::string, std::string>>{
           {"--kind incast", "--pattern incast requires --hub"},
           {"--kind incast --hub n1 --duration 3s", "--duration: expected at most 2s, saw '3s'"},
           {"--kind latency --duration 1s", "--duration does not apply to --kind latency"},
           {"--kind latency --gpus 0000:1b:00.0", "--gpus does not apply to --kind latency"},
           {"--kind incast --hub n1 --bidirectional",
            "--bidirectional does not apply to --kind incast"},
       }) {
    FakeController controller;
    const Said said = RunWords("probe run " + words, controller);
    EXPECT_EQ(said.status, kExitUsage) << words;
    EXPECT_NE(said.err.find(says), std::string::npos) << said.err;
  }
}

TEST(GpuMemoryTable, ShowsEachWayAndWhyItDoesNotWork) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {
      FromText<v1::Campaign>(R"({"id": "c4", "state": "CAMPAIGN_STATE_DONE",
    "probes_ok": 1, "results": [{"from": {"node": "n1", "device": "mlx5_0", "port": 1},
      "to": {"node": "n2", "device": "mlx5_0", "port": 1}, "probe": {"gpu_memory": {}},
      "result": {"status": "PROBE_STATUS_OK", "gpu_memory": [
        {"gpu": "0000:1b:00.0", "remote_gpu": "0000:5d:00.0",
         "registration": "GPU_MEMORY_REGISTRATION_PEER_MEMORY", "reason": "responder: Bad address"},
        {"gpu": "0000:1b:00.0", "remote_gpu": "0000:5d:00.0",
         "registration": "GPU_MEMORY_REGISTRATION_DMA_BUF",
         "works": true, "bandwidth": {"mean_bps": 3.9e11}}]}},
      {"from": {"node": "n3", "device": "mlx5_0", "port": 1},
      "to": {"node": "n2", "device": "mlx5_0", "port": 1}, "probe": {"gpu_memory": {}},
      "result": {"status": "PROBE_STATUS_REFUSED",
                 "reason": "n3: gpu_memory needs a GPU, and this node has none"}}]})")};
  const std::string out = RunWords("probe show c4", controller).out;
  for (const std::string_view line :
       {"RAIL  FROM         TO           STATUS   GPU           REMOTE GPU    WAY          WORKS  "
        "BANDWIDTH  REASON\n",
        "ok       0000:1b:00.0  0000:5d:00.0  peer memory  no             -  responder: Bad "
        "address\n",
        "ok       0000:1b:00.0  0000:5d:00.0  dma-buf      yes     390 Gb/s  -\n",
        "refused  -             -             -            -              -  n3: gpu_memory needs "
        "a GPU, and this node has none\n"})
    EXPECT_NE(out.find(line), std::string::npos) << line << "\nin\n" << out;
  EXPECT_NE(RunWords("matrix c4", controller).out.find("GPU memory"), std::string::npos);
}

}  // namespace
}  // namespace fabric::ctl
