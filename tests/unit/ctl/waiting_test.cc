// Commands that wait, and their progress.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "ctl/item_progress.h"
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

v1::GetNodeResponse NodeIn(v1::NodeState state, const char* reported) {
  auto node = FromText<v1::GetNodeResponse>(
      R"({"summary": {"name": "n1", "state_since": "2026-11-21T01:10:00Z"}})");
  node.mutable_summary()->set_state(state);
  EXPECT_TRUE(google::protobuf::util::TimeUtil::FromString(
      reported, node.mutable_summary()->mutable_reported_at()));
  return node;
}

TEST(Node, WaitsUntilItHasReportedSinceItConnected) {
  FakeController controller;
  controller.Answers<v1::GetNodeResponse>() = {
      NodeIn(v1::NODE_STATE_LOST, "2026-11-21T01:00:00Z"),
      NodeIn(v1::NODE_STATE_CONNECTED, "2026-11-21T01:00:00Z"),
      NodeIn(v1::NODE_STATE_CONNECTED, "2026-11-21T01:10:01Z")};
  const Said said = RunWords("node n1 --wait -o name", controller, {.progress = true});
  EXPECT_EQ(said.out, "n1\n");
  EXPECT_THAT(said.err, HasSubstr("node n1: not connected"));
  EXPECT_THAT(said.err, HasSubstr("node n1: connected, no settings reported yet"));
  EXPECT_EQ(controller.Requests<v1::GetNodeRequest>().size(), 4u);
}

TEST(Node, AnInterruptOfTheWaitSaysWhatIsMissing) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeIn(v1::NODE_STATE_LOST, "2026-11-21T01:00:00Z");
  const Said said = RunWords("node n1 --wait", controller, {.interrupted = true});
  EXPECT_EQ(said.status, kExitInterrupted);
  EXPECT_EQ(said.err, "fabricctl: interrupted; node n1: not connected\n");
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
  std::size_t Columns() const override { return 0; }

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

TEST(Progress, ALongCallShowsHowLongItTakes) {
  FakeController controller;
  controller.waited = std::chrono::seconds(3);
  EXPECT_EQ(RunWords("validate", controller, {.progress = true}).err,
            "\rwaiting for the controller: 3s\x1b[K\r\x1b[KNo findings.\n");
  EXPECT_EQ(RunWords("profile infer", controller).err, "") << "no terminal";
}

// Files with these numbers of bytes.
std::vector<std::string> FilesOf(const std::vector<std::size_t>& sizes) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "file_progress";
  std::filesystem::create_directories(folder);
  std::vector<std::string> files;
  for (const std::size_t size : sizes) {
    files.push_back(folder / std::to_string(files.size()));
    std::ofstream(files.back()) << std::string(size, 'x');
  }
  return files;
}

TEST(FileProgress, TheTimeLeftFollowsFromTheSizes) {
  FakeStream stream;
  FileProgress progress(stream, "check", FilesOf({300, 100, 200}));
  progress.Next();
  stream.now += std::chrono::seconds(30);
  progress.Next();
  EXPECT_EQ(stream.line, "check: 1 of 3 files, about 30s left");
  stream.now += std::chrono::seconds(10);
  progress.Next();
  EXPECT_EQ(stream.line, "check: 2 of 3 files, about 20s left");
  stream.now += std::chrono::seconds(20);
  progress.Then("evaluating the rules");
  EXPECT_EQ(stream.line, "check: evaluating the rules");
}

TEST(FileProgress, ALargeFileHasAShare) {
  FakeStream stream;
  FileProgress progress(stream, "explain-log", FilesOf({1000}));
  progress.Next();
  stream.now += std::chrono::seconds(3);
  progress.Read(250);
  EXPECT_EQ(stream.line, "explain-log: 25 %, about 9s left");
  stream.now += std::chrono::milliseconds(10);
  progress.Read(250);
  EXPECT_EQ(stream.line, "explain-log: 25 %, about 9s left") << "at most ten lines a second";
}

TEST(FileProgress, StandardInputHasNoTime) {
  FakeStream stream;
  FileProgress one(stream, "explain-log", {"-"});
  one.Next();
  stream.now += std::chrono::seconds(3);
  one.Read(5'000'000);
  EXPECT_EQ(stream.line, "explain-log: 5 MB");
  std::vector<std::string> files = FilesOf({1000});
  files.push_back("-");
  FileProgress several(stream, "explain-log", files);
  several.Next();
  stream.now += std::chrono::seconds(3);
  several.Next();
  EXPECT_EQ(stream.line, "explain-log: 1 of 2 files");
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
