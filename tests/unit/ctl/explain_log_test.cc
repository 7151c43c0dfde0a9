// The command explain-log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/golden.h"
#include "tests/testing/paths.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LogFolder() {
  return std::string(fabric::testing::kSourceDir) + "/tests/fixtures/logs/";
}

std::string Replaced(std::string text, const std::string& what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), by);
  return text;
}

// Golden texts do not know where the tree stands.
Said Explain(std::string_view files, FakeController& controller, std::string_view options = "") {
  std::string words = Format("explain-log {}", options);
  for (const std::string_view file : Words(files)) words += Format(" {}{}", LogFolder(), file);
  Said said = RunWords(words, controller);
  said.out = Replaced(std::move(said.out), LogFolder(), "");
  return said;
}

TEST(ExplainLog, NamesTheCauseFirst) {
  FakeController controller;
  for (const std::string name :
       {"roce_link_local_gid", "infiniband_link_flap", "slurm_ucx_memlock",
        "kubernetes_rails_apart", "gpudirect_on_one_node", "kernel_firmware", "benchmark_mtu"}) {
    const Said said = Explain(name + ".log", controller);
    EXPECT_TRUE(MatchesGolden("ctl/explain_log_" + name, said.out));
    EXPECT_EQ(said.status, kExitFindings) << name;
    EXPECT_EQ(said.err, "") << name;
  }
}

TEST(ExplainLog, SaysWhenNothingIsKnown) {
  FakeController controller;
  const Said said = Explain("healthy.log", controller);
  EXPECT_THAT(said.out, HasSubstr("No message in it is known to this program"));
  EXPECT_EQ(said.status, kExitOk);
}

TEST(ExplainLog, ReadsSeveralFilesAndSaysWhichOneItMeans) {
  FakeController controller;
  const Said said = Explain("slurm_ucx_memlock.log kernel_firmware.log", controller);
  EXPECT_THAT(said.out, HasSubstr("First failure: slurm_ucx_memlock.log:1, "));
  EXPECT_THAT(said.out, HasSubstr("kernel_firmware.log:3 "));
  EXPECT_TRUE(MatchesGolden("ctl/explain_log_wide",
                            Explain("slurm_ucx_memlock.log", controller, "-o wide").out));
}

TEST(ExplainLog, JsonAndNamesAreForPrograms) {
  FakeController controller;
  EXPECT_TRUE(MatchesGolden("ctl/explain_log_json",
                            Explain("gpudirect_on_one_node.log", controller, "-o json").out));
  EXPECT_EQ(Explain("gpudirect_on_one_node.log", controller, "-o name").out,
            "peermem_not_loaded\npeermem_not_registered\ngdr_distance\n");
}

TEST(ExplainLog, AFileThatCannotBeReadIsNamed) {
  FakeController controller;
  const Said said = RunWords("explain-log /nowhere/job.log", controller);
  EXPECT_EQ(said.status, kExitError);
  EXPECT_THAT(said.err, HasSubstr("/nowhere/job.log: No such file or directory"));
  EXPECT_EQ(RunWords("explain-log", controller).status, kExitUsage);
}

FakeController WithNodes() {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(
      R"({"nodes": [{"name": "node-1.example.com"}, {"name": "other"}]})");
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"snapshot": {"net_interfaces": [{"name": "rail0", "addresses": ["10.1.1.1/24"]}]}})");
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(R"({"findings": [
      {"id": "f1", "rule": "roce_v2_gid_present", "verdict": "VERDICT_FAIL",
       "severity": "SEVERITY_ERROR", "title": "no routable RoCE v2 GID",
       "subject": {"scope": "SCOPE_PORT", "node": "node-1.example.com", "device": "mlx5_0",
                   "port": 1},
       "state": "FINDING_STATE_OPEN", "opened_at": "2026-11-21T01:16:07Z"}]})");
  return controller;
}

TEST(ExplainLog, OpenFindingsOfTheNodesStandBesideIt) {
  FakeController controller = WithNodes();
  const Said said = Explain("roce_link_local_gid.log", controller, "--controller c:1");
  EXPECT_TRUE(MatchesGolden("ctl/explain_log_findings", said.out));
}

TEST(ExplainLog, AsksTheControllerOnlyWhenOneIsNamed) {
  FakeController controller = WithNodes();
  EXPECT_THAT(Explain("roce_link_local_gid.log", controller).out, Not(HasSubstr("fabricd on")));
  const FakeTerminal terminal{.controller = "c:1"};
  EXPECT_THAT(
      RunWords("explain-log " + LogFolder() + "roce_link_local_gid.log", controller, terminal).out,
      HasSubstr("fabricd on node-1.example.com (node-1 in the log)"));
}

TEST(ExplainLog, AControllerThatDoesNotAnswerIsANote) {
  FakeController controller;
  controller.failure = Status(Code::kUnavailable, "cannot reach the controller at c:1");
  const Said said = Explain("roce_link_local_gid.log", controller, "--controller c:1");
  EXPECT_THAT(said.out,
              HasSubstr("Note: Findings of the controller are not available: cannot reach"));
  EXPECT_EQ(said.status, kExitFindings);
}

}  // namespace
}  // namespace fabric::ctl
