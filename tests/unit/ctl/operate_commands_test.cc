// The commands node maintenance, reload, profile apply, nccl-env, topology --as.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "ctl/tar.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

TEST(NodeMaintenance, IsASilenceOfTheNodeThatCampaignsObey) {
  FakeController controller;
  controller.Answer<v1::Silence>() = FromText<v1::Silence>(
      R"({"id": "s1", "node": "n2", "maintenance": true, "until": "2026-11-21T05:16:07Z"})");
  const Said said =
      RunWords("node maintenance n2 --for 4h --reason OPS-7 --author ada", controller);
  EXPECT_EQ(said.out, "Node n2 is in maintenance until 2026-11-21T05:16:07Z.\n");
  const auto request = controller.LastRequest<v1::CreateSilenceRequest>();
  EXPECT_TRUE(request.silence().maintenance());
  EXPECT_EQ(request.silence().node(), "n2");
  EXPECT_EQ(request.silence().reason(), "OPS-7");
  EXPECT_EQ(request.duration_seconds(), 4u * 3600);
}

TEST(NodeMaintenance, EndsWhatWasStartedForTheNode) {
  FakeController controller;
  controller.Answer<v1::ListSilencesResponse>() = FromText<v1::ListSilencesResponse>(
      R"({"silences": [{"id": "s1", "node": "n2"}, {"id": "s2", "node": "n2", "maintenance": true},
                       {"id": "s3", "node": "n3", "maintenance": true}]})");
  const Said said = RunWords("node maintenance n2 --end --author ada", controller);
  EXPECT_EQ(said.out, "Maintenance of n2 ended.\n");
  const auto ended = controller.Requests<v1::DeleteSilenceRequest>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].id(), "s2");
  EXPECT_THAT(RunWords("node maintenance n9 --end --author ada", controller).err,
              HasSubstr("node n9 is not in maintenance"));
}

TEST(NodeMaintenance, TakesSeveralNodesAndGoesOnAfterAFailure) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(
      R"({"nodes": [{"name": "n1", "labels": {"pool": "h100"}}, {"name": "n2"},
                    {"name": "n3", "labels": {"pool": "h100"}}]})");
  controller.Answer<v1::Silence>() = FromText<v1::Silence>(
      R"({"id": "s1", "node": "n3", "maintenance": true, "until": "2026-11-21T05:16:07Z"})");
  controller.failures["n1"] = Status(Code::kPermissionDenied, "not your node");
  const Said said =
      RunWords("node maintenance pool=h100 --for 4h --reason OPS-7 --author ada", controller);
  EXPECT_EQ(said.status, kExitNotAllowed);
  EXPECT_EQ(said.out, "Node n3 is in maintenance until 2026-11-21T05:16:07Z.\n");
  EXPECT_EQ(said.err, "fabricctl: n1: not your node\n");
  std::vector<std::string> nodes;
  for (const auto& request : controller.Requests<v1::CreateSilenceRequest>())
    nodes.push_back(request.silence().node());
  EXPECT_THAT(nodes, ::testing::ElementsAre("n1", "n3"));
}

TEST(NodeMaintenance, EndsForSeveralNodes) {
  FakeController controller;
  controller.Answer<v1::ListSilencesResponse>() = FromText<v1::ListSilencesResponse>(
      R"({"silences": [{"id": "s1", "node": "n1", "maintenance": true},
                       {"id": "s2", "node": "n2", "maintenance": true},
                       {"id": "s3", "node": "n3", "maintenance": true}]})");
  const Said said = RunWords("node maintenance n[2-4] --end --author ada", controller);
  EXPECT_EQ(said.status, kExitError);
  EXPECT_EQ(said.out, "Maintenance of n2 ended.\nMaintenance of n3 ended.\n");
  EXPECT_EQ(said.err, "fabricctl: node n4 is not in maintenance\n");
  EXPECT_EQ(controller.Requests<v1::DeleteSilenceRequest>().size(), 2u);
}

TEST(NodeMaintenance, NeedsADurationAndAReasonOrAnEnd) {
  FakeController controller;
  EXPECT_THAT(RunWords("node maintenance n2 --for 1h --author ada", controller).err,
              HasSubstr("expected --for and --reason, or --end"));
  EXPECT_THAT(RunWords("node maintenance n2 --for 1h --end --author ada", controller).err,
              HasSubstr("expected --end alone"));
}

TEST(Reload, TellsWhatIsInUseAndWhatNeedsARestart) {
  FakeController controller;
  controller.Answer<v1::ReloadResponse>() = FromText<v1::ReloadResponse>(
      R"({"profile": "site", "rules": 2, "logLevel": "info", "restartNeeded": ["lost-after"]})");
  EXPECT_EQ(RunWords("reload --author ada", controller).out,
            "Reloaded: profile site, 2 custom rules, log level info.\n"
            "Restart fabricd to use the new value of lost-after.\n");
}

TEST(ProfileApply, SendsTheFileAndChecksItFirst) {
  testing::TempTree tree;
  tree.File("site.yaml", "name: site\nexpect:\n  netdev_mtu_bytes: 4200\n");
  tree.File("bad.yaml", "name: site\nexpekt: {}\n");
  FakeController controller;
  controller.Answer<v1::ReloadResponse>().set_profile("site");
  EXPECT_EQ(RunWords("profile apply " + tree.path() + "/site.yaml --dry-run", controller).out,
            "Valid: profile site.\n");
  const auto request = controller.LastRequest<v1::ApplyProfileRequest>();
  EXPECT_THAT(request.yaml(), HasSubstr("netdev_mtu_bytes: 4200"));
  EXPECT_TRUE(request.dry_run());
  EXPECT_THAT(RunWords("profile apply " + tree.path() + "/bad.yaml", controller).err,
              HasSubstr("bad.yaml:2:1"));
  EXPECT_EQ(controller.Requests<v1::ApplyProfileRequest>().size(), 1u);
}

v1::ListDevicesResponse TwoLinks() {
  return FromText<v1::ListDevicesResponse>(R"({"devices": [
      {"node": "n1", "device": "mlx5_0", "port": 1, "rail": 0, "leaf": "leaf \"1\" <a>",
       "state": "PORT_STATE_ACTIVE"},
      {"node": "n2", "device": "mlx5_0", "port": 1, "state": "PORT_STATE_DOWN"}]})");
}

TEST(Settings, AreShownWithTheirSources) {
  FakeController controller;
  controller.Answer<v1::EffectiveSettings>() = FromText<v1::EffectiveSettings>(
      R"({"settings": [
           {"name": "lease", "values": ["3s"], "source": "SETTING_SOURCE_DEFAULT"},
           {"name": "state", "values": ["/s.db"], "source": "SETTING_SOURCE_COMMAND_LINE"}]})");
  EXPECT_EQ(RunWords("settings", controller).out,
            "SETTING  VALUE  SOURCE\n"
            "lease    3s     default\n"
            "state    /s.db  command line\n");
  EXPECT_EQ(RunWords("settings --changed -o name", controller).out, "state\n");
}

TEST(TopologyGraph, DotHasAnEdgeForEachPortAndQuotesNames) {
  FakeController controller;
  controller.Answer<v1::ListDevicesResponse>() = TwoLinks();
  EXPECT_EQ(RunWords("topology --as dot", controller).out, R"(graph fabric {
  rankdir=LR;
  node [shape=box];
  "switch leaf \"1\" <a>" -- "n1" [label="mlx5_0/1, rail 0"];
  "switch unknown" -- "n2" [label="mlx5_0/1", color=red, style=dashed];
}
)");
}

TEST(TopologyGraph, SvgHasALineForEachPortAndEscapesNames) {
  FakeController controller;
  controller.Answer<v1::ListDevicesResponse>() = TwoLinks();
  const std::string svg = RunWords("topology --as svg", controller).out;
  EXPECT_THAT(svg, HasSubstr("<svg xmlns="));
  EXPECT_THAT(svg, HasSubstr("leaf &quot;1&quot; &lt;a&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>n2 mlx5_0/1, not ACTIVE</title>"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("<a>")));
}

TEST(TopologyGraph, APictureHasNoOtherFormatAndIsNotRepeated) {
  FakeController controller;
  for (const auto& [words, option] : {std::pair("topology --as svg -o json", "output"),
                                      std::pair("topology --as dot -w", "watch"),
                                      std::pair("topology --as svg --sort-by rail", "sort-by")}) {
    const Said said = RunWords(words, controller);
    EXPECT_THAT(said.err, HasSubstr(Format("or --{}, saw both", option)));
    EXPECT_EQ(said.status, kExitUsage);
    EXPECT_EQ(said.out, "");
  }
}

TEST(NcclEnv, ShowsOneRowWhereNodesAgreeAndOneForEachValueWhereTheyDiffer) {
  FakeController controller;
  std::vector<v1::GetNodeResponse>& nodes = controller.Answers<v1::GetNodeResponse>();
  nodes.resize(2);
  *nodes[0].mutable_snapshot() = testing::RoceNode({.number = 1});
  *nodes[1].mutable_snapshot() = testing::RoceNode({.number = 2});
  const Said alike = RunWords("nccl-env n1,n2", controller);
  EXPECT_EQ(alike.status, kExitOk) << alike.out;
  EXPECT_THAT(alike.out, HasSubstr("2 nodes: all need the same values."));
  EXPECT_THAT(alike.out, HasSubstr("NCCL_IB_HCA"));

  FakeController other;
  std::vector<v1::GetNodeResponse>& different = other.Answers<v1::GetNodeResponse>();
  different.resize(2);
  *different[0].mutable_snapshot() = testing::RoceNode({.number = 1});
  different[1].mutable_snapshot()->mutable_node()->set_name("n2");
  const Said differ = RunWords("nccl-env n1,n2", other);
  EXPECT_EQ(differ.status, kExitFindings);
  EXPECT_THAT(differ.out, HasSubstr("Without a port that NCCL can use: n2"));
}

TEST(Tar, HasNameSizeAndChecksum) {
  const std::string file = TarFile("a/b.json", "hello", WallTime(std::chrono::seconds(8)));
  ASSERT_EQ(file.size(), 1024u);
  EXPECT_EQ(file.substr(0, 8), "a/b.json");
  EXPECT_EQ(file.substr(124, 11), "00000000005");
  EXPECT_EQ(file.substr(136, 11), "00000000010");
  EXPECT_EQ(file.substr(512, 5), "hello");
  unsigned sum = 8 * ' ';
  for (std::size_t at = 0; at < 512; ++at)
    if (at < 148 || at >= 156) sum += static_cast<unsigned char>(file[at]);
  EXPECT_EQ(std::stoul(file.substr(148, 6), nullptr, 8), sum);
  EXPECT_EQ(TarEnd(), std::string(1024, '\0'));
}

}  // namespace
}  // namespace fabric::ctl
