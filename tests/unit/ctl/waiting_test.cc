// Commands that wait, and their progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "ctl/node_progress.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

v1::Campaign CampaignIn(v1::CampaignState state) {
  auto campaign = FromText<v1::Campaign>(R"({"id": "c7", "probes_planned": 8})");
  campaign.set_state(state);
  return campaign;
}

TEST(ProbeShow, WithoutAnIdShowsTheNewestCampaign) {
  FakeController controller;
  EXPECT_EQ(RunWords("probe show", controller).err,
            "fabricctl: no campaigns; start one with `fabricctl probe run`\n");
  *controller.Answer<v1::ListCampaignsResponse>().add_campaigns() =
      CampaignIn(v1::CAMPAIGN_STATE_DONE);
  controller.Answer<v1::Campaign>() = CampaignIn(v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(RunWords("probe show -o name", controller).status, kExitOk);
  EXPECT_EQ(controller.LastRequest<v1::GetCampaignRequest>().id(), "c7");
}

TEST(ProbeShow, WaitsUntilTheCampaignEnds) {
  FakeController controller;
  controller.Answers<v1::Campaign>() = {CampaignIn(v1::CAMPAIGN_STATE_RUNNING),
                                        CampaignIn(v1::CAMPAIGN_STATE_RUNNING),
                                        CampaignIn(v1::CAMPAIGN_STATE_DONE)};
  const Said said = RunWords("probe show c7 --wait", controller, {.progress = true});
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_THAT(said.out, HasSubstr("campaign c7: done"));
  EXPECT_THAT(said.err, HasSubstr("campaign c7: 0 of 8 probes"));
}

TEST(ProbeShow, AnInterruptOfTheWaitLeavesTheCampaignRunning) {
  FakeController controller;
  controller.Answer<v1::Campaign>() = CampaignIn(v1::CAMPAIGN_STATE_RUNNING);
  const Said said = RunWords("probe show c7 --wait", controller, {.interrupted = true});
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_EQ(said.err, "fabricctl: interrupted; campaign c7 continues\n");
  EXPECT_TRUE(controller.Requests<v1::CancelCampaignRequest>().empty());
}

TEST(ProbeCancel, SaysThatTheCampaignHadEnded) {
  FakeController controller;
  controller.Answer<v1::Campaign>() = CampaignIn(v1::CAMPAIGN_STATE_DONE);
  EXPECT_THAT(RunWords("probe cancel c7", controller).out,
              HasSubstr("The campaign had already ended; no probe was cancelled.\n"));
  controller.Answer<v1::Campaign>() = CampaignIn(v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_EQ(RunWords("probe cancel c7", controller).out.find("already"), std::string::npos);
}

class FakeStream final : public Stream {
 public:
  bool Print(const Output&) override { return true; }
  bool Write(std::string_view) override { return true; }
  void Progress(std::string_view text) override { line = text; }
  void CatchInterrupts() override {}
  bool Wait(Duration) override { return true; }
  WallTime Now() const override { return now; }

  std::string line;
  WallTime now = {};
};

TEST(NodeProgress, HasAnEstimateAfterTheFirstSecond) {
  FakeStream stream;
  NodeProgress progress(stream, "nccl-env", 100);
  stream.now += std::chrono::seconds(5);
  progress.Next();
  EXPECT_EQ(stream.line, "") << "the first node has no duration yet";
  for (int node = 1; node < 20; ++node) progress.Next();
  stream.now += std::chrono::seconds(5);
  progress.Next();
  EXPECT_EQ(stream.line, "nccl-env: 20 of 100 nodes, about 40s left");
}

TEST(NodeProgress, ShortCommandsHaveNone) {
  FakeStream stream;
  NodeProgress progress(stream, "nccl-env", 3);
  for (int node = 0; node < 3; ++node) {
    stream.now += std::chrono::milliseconds(300);
    progress.Next();
  }
  EXPECT_EQ(stream.line, "");
}

}  // namespace
}  // namespace fabric::ctl
