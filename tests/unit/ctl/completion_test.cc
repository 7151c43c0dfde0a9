// Completion of command lines.
#include "ctl/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> CompletionsOf(std::vector<std::string_view> words) {
  return Completions(AllCommands(), words, [](LiveNames names) -> std::vector<std::string> {
    if (names == LiveNames::kNodes) return {"n1", "n2"};
    if (names == LiveNames::kFindings) return {"f1"};
    return {};
  });
}

TEST(Completion, OfCommandsAndTheirParts) {
  EXPECT_THAT(CompletionsOf({"find"}), ElementsAre("findings", "finding"));
  EXPECT_THAT(CompletionsOf({"finding", ""}), ElementsAre("show", "ack"));
  EXPECT_THAT(CompletionsOf({"probe", "r"}), ElementsAre("run", "recheck"));
  EXPECT_THAT(CompletionsOf({"nodes", ""}), IsEmpty());
}

TEST(Completion, OfOptionsOfTheCommandAndOfEveryCommand) {
  EXPECT_THAT(CompletionsOf({"findings", "--no"}),
              ElementsAre("--node", "--no-headers", "--no-color"));
  EXPECT_THAT(CompletionsOf({"nodes", "--"}), Contains("--sort-by"));
  EXPECT_THAT(CompletionsOf({"nodes", "--"}), Not(Contains("--severity")));
  EXPECT_THAT(CompletionsOf({"--cont"}), ElementsAre("--controller", "--context"));
}

TEST(Completion, OfValues) {
  EXPECT_THAT(CompletionsOf({"nodes", "-o", "js"}), ElementsAre("json", "jsonl"));
  EXPECT_THAT(CompletionsOf({"nodes", "--output=js"}), ElementsAre("json", "jsonl"));
  EXPECT_THAT(CompletionsOf({"nodes", "--output", "=", "js"}), ElementsAre("json", "jsonl"));
  EXPECT_THAT(CompletionsOf({"nodes", "--output", "="}), Contains("table"));
  EXPECT_THAT(CompletionsOf({"findings", "--severity", "c"}), ElementsAre("critical"));
}

TEST(Completion, OfLiveNames) {
  EXPECT_THAT(CompletionsOf({"node", "n"}), ElementsAre("n1", "n2"));
  EXPECT_THAT(CompletionsOf({"node", ""}),
              ElementsAre("remove", "label", "maintenance", "n1", "n2"));
  EXPECT_THAT(CompletionsOf({"findings", "--node", "n"}), ElementsAre("n1", "n2"));
  EXPECT_THAT(CompletionsOf({"probe", "run", "--nodes", "n1,n"}), ElementsAre("n1,n1", "n1,n2"));
  EXPECT_THAT(CompletionsOf({"finding", "show", ""}), ElementsAre("f1"));
  EXPECT_THAT(CompletionsOf({"diagnose", "n1", "n"}), ElementsAre("n1", "n2"));
}

TEST(Completion, CallsTheControllerOfTheLineWithAShortLimit) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>().add_nodes()->set_name("gpu7");
  const Said said = RunWords("__complete -- --controller far:7 node gp", controller);
  EXPECT_EQ(said.out, "gpu7\n");
  EXPECT_EQ(controller.options.controller, "far:7");
  EXPECT_EQ(controller.options.timeout, std::chrono::milliseconds(500));
}

TEST(Completion, IsSilentWithoutAController) {
  FakeController controller;
  controller.failure = Status(Code::kUnavailable, "gone");
  const Said said = RunWords("__complete -- node gp", controller);
  EXPECT_EQ(said.out + said.err, "");
  EXPECT_EQ(said.status, kExitOk);
}

}  // namespace
}  // namespace fabric::ctl
