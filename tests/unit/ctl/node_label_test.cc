// The command node label, and selectors of labels wherever nodes are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "proto/labels.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FakeController WithLabels() {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(R"({"nodes": [
    {"name": "n1", "labels": {"pool": "h100", "rack": "r12"}},
    {"name": "n2", "labels": {"pool": "h100", "rack": "r13", "spare": ""}},
    {"name": "n3", "labels": {"pool": "h200"}},
    {"name": "n4"}]})");
  return controller;
}

TEST(NodeLabel, SetsAndRemovesAndPrintsWhatTheNodeHas) {
  FakeController controller;
  controller.Answer<v1::NodeSummary>() =
      FromText<v1::NodeSummary>(R"({"name": "n2", "labels": {"rack": "r12", "pool": "h100"}})");
  const Said said = RunWords("node label n2 pool=h100 rack=r12 note= spare-", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(said.out,
            "NODE  LABELS\n"
            "n2    pool=h100,rack=r12\n");
  const auto request = controller.LastRequest<v1::SetNodeLabelsRequest>();
  EXPECT_EQ(request.name(), "n2");
  EXPECT_EQ(request.author(), "ada");
  EXPECT_EQ(LabelsText(request.set()), "note=,pool=h100,rack=r12");
  EXPECT_THAT(request.remove(), ElementsAre("spare"));
}

TEST(NodeLabel, WithoutALabelOnlyReads) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>().mutable_summary()->set_name("n2");
  EXPECT_EQ(RunWords("node label n2", controller).out, "NODE  LABELS\nn2    -\n");
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n2");
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().fields(), "summary.name,summary.labels");
  EXPECT_THAT(controller.Requests<v1::SetNodeLabelsRequest>(), IsEmpty());
}

TEST(NodeLabel, TakesSeveralNodes) {
  FakeController controller = WithLabels();
  ASSERT_EQ(RunWords("node label --nodes pool=h100 tier=gold", controller).status, kExitOk);
  std::vector<std::string> names;
  for (const auto& request : controller.Requests<v1::SetNodeLabelsRequest>()) {
    names.push_back(request.name());
    EXPECT_EQ(LabelsText(request.set()), "tier=gold");
  }
  EXPECT_THAT(names, ElementsAre("n1", "n2"));
}

TEST(NodeLabel, AWrongLabelAsksNothing) {
  const std::tuple<const char*, const char*> cases[] = {
      {"node label n2 pool", "LABEL: expected KEY=VALUE or KEY-, saw 'pool'"},
      {"node label n2 pool=a pool=b", "LABEL: expected 'pool' once, saw it twice"},
      {"node label n2 =a", "LABEL: key of a label: expected 1 to 63 letters"},
      {"node label n2 pool=a/b", "LABEL: value of the label 'pool'"},
      {"node label n2 -pool-", "unknown option"},
      {"node label", "expected NAME or --nodes"},
      {"node label --nodes n1 n2 pool=a", "LABEL: expected KEY=VALUE or KEY-, saw 'n2'"},
  };
  for (const auto& [words, message] : cases) {
    FakeController controller = WithLabels();
    const Said said = RunWords(words, controller);
    EXPECT_EQ(said.status, kExitUsage) << words;
    EXPECT_THAT(said.err, HasSubstr(message));
    EXPECT_TRUE(controller.requests.empty()) << words;
  }
}

TEST(Nodes, ShowTheirLabels) {
  FakeController controller = WithLabels();
  EXPECT_THAT(RunWords("nodes -o wide", controller).out, HasSubstr("pool=h100,rack=r13,spare="));
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"summary": {"name": "n1", "labels": {"rack": "r12", "pool": "h100"}}})");
  EXPECT_THAT(RunWords("node n1", controller).out,
              HasSubstr("\nLabels:       pool=h100,rack=r12\n"));
  EXPECT_THAT(RunWords("node n1 -o json", controller).out, HasSubstr("\"pool\": \"h100\""));
}

// The nodes that `probe run` sends for these values of --nodes.
std::vector<std::string> Selected(const std::string& options) {
  FakeController controller = WithLabels();
  RunWords("probe run --no-wait " + options, controller);
  const auto request = controller.LastRequest<v1::StartCampaignRequest>();
  return {request.spec().nodes().begin(), request.spec().nodes().end()};
}

TEST(Selectors, NameTheNodesWithTheseLabels) {
  EXPECT_THAT(Selected("--nodes pool=h100"), ElementsAre("n1", "n2"));
  EXPECT_THAT(Selected("--nodes pool==h100,rack=r12"), ElementsAre("n1"));
  EXPECT_THAT(Selected("--nodes pool!=h100"), ElementsAre("n3", "n4"));
  EXPECT_THAT(Selected("--nodes pool,!spare"), ElementsAre("n1", "n3"));
  EXPECT_THAT(Selected("--nodes pool=h200 --nodes n9,n3"), ElementsAre("n3", "n9"));
  EXPECT_THAT(Selected("--nodes rack=r12 --nodes rack=r13"), ElementsAre("n1", "n2"));
}

TEST(Selectors, AreNeverAllNodesByMistake) {
  const std::tuple<const char*, const char*, int> cases[] = {
      {"pol=h100", "--nodes: unknown label 'pol'; did you mean 'pool'?", kExitError},
      {"tier!=gold", "--nodes: unknown label 'tier': no node has it", kExitError},
      {"!tier", "--nodes: unknown label 'tier': no node has it", kExitError},
      {"pool=h300", "--nodes: the selector 'pool=h300' matches none of 4 nodes", kExitError},
      {"pool=h200,rack=r12", "matches none of 4 nodes", kExitError},
      {"pool=h100,", "--nodes: selector of labels: expected terms such as", kExitUsage},
      {"=", "--nodes: selector of labels: '=': key of a label", kExitUsage},
      {"n1,pool=h100", "unknown label 'n1'", kExitError},
  };
  for (const auto& [text, message, status] : cases) {
    FakeController controller = WithLabels();
    const Said said = RunWords(std::string("probe run --nodes ") + text, controller);
    EXPECT_EQ(said.status, status) << text;
    EXPECT_THAT(said.err, HasSubstr(message));
    EXPECT_THAT(controller.Requests<v1::StartCampaignRequest>(), IsEmpty()) << text;
  }
  FakeController none;
  EXPECT_THAT(RunWords("probe run --nodes pool=h100", none).err,
              HasSubstr("unknown label 'pool': no node has it"));
}

TEST(Selectors, AreTakenWhereverNodesAreNamed) {
  FakeController controller = WithLabels();
  RunWords("certify --nodes pool=h100", controller, {.interrupted = true});
  EXPECT_THAT(controller.LastRequest<v1::StartCertificateRequest>().request().nodes(),
              ElementsAre("n1", "n2"));
  RunWords("findings --node pool=h200", controller);
  EXPECT_THAT(controller.LastRequest<v1::ListFindingsRequest>().nodes(), ElementsAre("n3"));
  RunWords("events --node spare=", controller);
  EXPECT_THAT(controller.LastRequest<v1::WatchEventsRequest>().nodes(), ElementsAre("n2"));
  RunWords("diagnose --nodes rack=r12", controller);
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n1");
  RunWords("nccl-env pool=h200", controller);
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n3");
  EXPECT_THAT(RunWords("certify verify x --key y --nodes pool=h100", controller).err,
              HasSubstr("fabricctl:"))
      << "without a controller";
}

TEST(Selectors, AreAnOptionOfCommandsThatList) {
  FakeController controller = WithLabels();
  EXPECT_EQ(RunWords("nodes --selector pool=h100 -o name", controller).out, "n1\nn2\n");
  EXPECT_EQ(RunWords("nodes -l pool=h100,rack=r12 -o name", controller).out, "n1\n");
  for (const char* const node : {"n1", "n2", "n3"}) {
    v1::DeviceSummary& device = *controller.Answer<v1::ListDevicesResponse>().add_devices();
    device.set_node(node);
    device.set_device("mlx5_0");
    device.set_port(1);
  }
  EXPECT_EQ(RunWords("devices -l rack=r13 -o name", controller).out, "n2/mlx5_0/1\n");
  RunWords("findings -l pool=h200", controller);
  EXPECT_THAT(controller.LastRequest<v1::ListFindingsRequest>().nodes(), ElementsAre("n3"));
  RunWords("events -l pool=h200", controller);
  EXPECT_THAT(controller.LastRequest<v1::WatchEventsRequest>().nodes(), ElementsAre("n3"));
  RunWords("nccl-env -l pool=h200", controller);
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n3");
  RunWords("diagnose -l rack=r12", controller);
  EXPECT_EQ(controller.LastRequest<v1::GetNodeRequest>().name(), "n1");
  const Said said = RunWords("nodes -l pol=h100", controller);
  EXPECT_EQ(said.err, "fabricctl: --selector: unknown label 'pol'; did you mean 'pool'?\n");
  EXPECT_EQ(said.out, "");
}

TEST(Selectors, TopologyHasThePortsOfTheseNodes) {
  FakeController controller = WithLabels();
  for (const char* const node : {"n1", "n2", "n3"}) {
    v1::DeviceSummary& device = *controller.Answer<v1::ListDevicesResponse>().add_devices();
    device.set_node(node);
    device.set_rail(0);
  }
  EXPECT_THAT(RunWords("topology -l pool=h100", controller).out, HasSubstr("n1, n2\n"));
  EXPECT_THAT(RunWords("topology --as dot -l pool=h200", controller).out,
              AllOf(HasSubstr("n3"), Not(HasSubstr("n1"))));
}

TEST(Selectors, StatusIsAboutTheseNodes) {
  FakeController controller = WithLabels();
  const Said said = RunWords("status -l pool=h100", controller);
  EXPECT_THAT(said.out, HasSubstr("Selected:  2 of 4 nodes\nNodes:     2 connected, 0 lost\n"));
  EXPECT_THAT(said.out, Not(HasSubstr("Coverage:"))) << "known of all nodes only";
  EXPECT_THAT(controller.LastRequest<v1::ListFindingsRequest>().nodes(), ElementsAre("n1", "n2"));
  EXPECT_THAT(RunWords("status", controller).out, Not(HasSubstr("Selected:")));
  EXPECT_EQ(RunWords("status -l pool=h300", controller).status, kExitError);
}

TEST(Selectors, ValidateShowsTheVerdictsAboutTheseNodes) {
  FakeController controller = WithLabels();
  controller.Answer<v1::ValidateResponse>() = FromText<v1::ValidateResponse>(R"({
      "counts": {"pass": 40, "fail": 2, "unknown": 1}, "nodes": 3, "rules": 2,
      "coverage": {"rulesJudged": 2},
      "notJudged": [{"name": "n4", "reason": "lost"}, {"name": "n2", "reason": "lost"}],
      "findings": [
        {"id": "a", "rule": "mtu", "verdict": "VERDICT_FAIL", "subject": {"node": "n1"}},
        {"id": "b", "rule": "mtu", "verdict": "VERDICT_FAIL", "subject": {"node": "n3"}},
        {"id": "c", "rule": "pfc", "verdict": "VERDICT_UNKNOWN", "subject": {"node": "n1"}}]})");
  const Said said = RunWords("validate -l pool=h100", controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("1 node, 2 rules: 1 fail, 1 unknown\n"
                                  "1 of 2 nodes judged; n2 lost\n"));
  EXPECT_THAT(said.out, Not(HasSubstr("Coverage:")));
  EXPECT_EQ(RunWords("validate -l pool=h100 -o name", controller).out, "a\nc\n");
  EXPECT_THAT(RunWords("validate -l pool=h100 -o json", controller).out, Not(HasSubstr("\"pass\"")))
      << "passes of these nodes are not known";
  EXPECT_EQ(RunWords("validate -l rack=r13", controller).status, kExitOk);
  controller.Answer<v1::ValidateResponse>().set_findings_omitted(7);
  EXPECT_THAT(RunWords("validate -l pool=h100", controller).out,
              HasSubstr("7 verdicts are left out of the answer, perhaps also of these nodes"));
  EXPECT_EQ(RunWords("validate -l rack=r13", controller).status, kExitOk) << "no failures";
  controller.Answer<v1::ValidateResponse>().mutable_counts()->set_fail(3);
  EXPECT_EQ(RunWords("validate -l rack=r13", controller).status, kExitUnknown);
  EXPECT_EQ(RunWords("validate -l pool=h100", controller).status, kExitFindings);
  EXPECT_THAT(RunWords("validate", controller).out,
              HasSubstr("7 verdicts are left out of the answer: see "));
}

TEST(Selectors, ASilenceIsAddedForEachNode) {
  FakeController controller = WithLabels();
  controller.Answers<v1::Silence>() = {
      FromText<v1::Silence>(R"({"id": "s1", "node": "n1", "until": "2026-11-21T05:16:07Z"})"),
      FromText<v1::Silence>(R"({"id": "s2", "node": "n2", "until": "2026-11-21T05:16:07Z"})")};
  const Said said =
      RunWords("silence add --node pool=h100 --rule mtu --for 4h --reason x -o name", controller);
  EXPECT_EQ(said.out, "s1\ns2\n");
  std::vector<std::string> nodes;
  for (const auto& request : controller.Requests<v1::CreateSilenceRequest>())
    nodes.push_back(request.silence().node() + " " + request.silence().rule());
  EXPECT_THAT(nodes, ElementsAre("n1 mtu", "n2 mtu"));
  EXPECT_EQ(RunWords("silence add --node pool=h300 --for 4h --reason x", controller).status,
            kExitError);
  EXPECT_EQ(controller.Requests<v1::CreateSilenceRequest>().size(), 2u);
}

}  // namespace
}  // namespace fabric::ctl
