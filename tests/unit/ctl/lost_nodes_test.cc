// Lost nodes and values that are not known: node remove, backup, validate, probe show, matrix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NodeRemove, SendsTheNameAndTheAuthor) {
  FakeController controller;
  controller.Answer<v1::NodeSummary>().set_name("n7");
  const Said said = RunWords("node remove n7", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(said.out, "Node n7 is removed.\n");
  EXPECT_EQ(controller.LastRequest<v1::DeleteNodeRequest>().name(), "n7");
  EXPECT_EQ(controller.LastRequest<v1::DeleteNodeRequest>().author(), "ada");
}

std::vector<std::string> RemovedNames(const FakeController& controller) {
  std::vector<std::string> names;
  for (const auto& request : controller.Requests<v1::DeleteNodeRequest>())
    names.push_back(request.name());
  return names;
}

FakeController ThatRemoves(std::initializer_list<const char*> nodes) {
  FakeController controller;
  controller.Answers<v1::NodeSummary>().clear();
  for (const char* const node : nodes)
    controller.Answers<v1::NodeSummary>().emplace_back().set_name(node);
  return controller;
}

TEST(NodeRemove, SeveralNodesNeedTheOptionYes) {
  FakeController controller;
  const Said said = RunWords("node remove n[1-3]", controller);
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_EQ(said.err, "fabricctl: expected --yes to remove 3 nodes: n1, n2, n3\n");
  EXPECT_TRUE(controller.requests.empty());
  EXPECT_EQ(RunWords("node remove n1,n1", controller).status, kExitOk) << "one node";
}

TEST(NodeRemove, ANodeThatFailsIsAnErrorAndTheOthersAreRemoved) {
  FakeController controller = ThatRemoves({"n1", "n3"});
  controller.failures["n2"] = Status(Code::kFailedPrecondition, "node n2 is connected");
  const Said said = RunWords("node remove n[1-3] --yes", controller);
  EXPECT_EQ(said.status, kExitError);
  EXPECT_EQ(said.out, "Node n1 is removed.\nNode n3 is removed.\n");
  EXPECT_EQ(said.err, "fabricctl: node n2 is connected\n");
  EXPECT_THAT(RemovedNames(controller), ElementsAre("n1", "n2", "n3"));
}

TEST(NodeRemove, AnErrorHasTheNameOfTheNodeOnce) {
  FakeController controller = ThatRemoves({"n3"});
  controller.failures["n2"] = Status(Code::kFailedPrecondition, "node n22 has its agent");
  EXPECT_EQ(RunWords("node remove n[2-3] --yes", controller).err,
            "fabricctl: n2: node n22 has its agent\n");
}

TEST(NodeRemove, AControllerThatDoesNotAnswerIsAskedOnce) {
  FakeController controller = ThatRemoves({"n1"});
  controller.failures["n2"] = Status(Code::kUnavailable, "no answer");
  const Said said = RunWords("node remove n[1-4] --yes -o name", controller);
  EXPECT_EQ(said.status, kExitUnreachable);
  EXPECT_EQ(said.out, "n1\n");
  EXPECT_THAT(said.err, HasSubstr("fabricctl: n2: no answer"));
  EXPECT_THAT(said.err, HasSubstr("fabricctl: not tried: n3, n4"));
  EXPECT_THAT(RemovedNames(controller), ElementsAre("n1", "n2"));
}

TEST(NodeRemove, JsonOfSeveralNodesIsAList) {
  FakeController controller = ThatRemoves({"n1", "n2"});
  const Said said = RunWords("node remove n1,n2 --yes -o json", controller);
  EXPECT_THAT(said.out, HasSubstr("\"nodes\": ["));
  FakeController one = ThatRemoves({"n1"});
  EXPECT_THAT(RunWords("node remove n1 -o json", one).out, Not(HasSubstr("\"nodes\"")));
}

TEST(Backup, SaysWhereTheCopyIs) {
  FakeController controller;
  v1::Backup& backup = controller.Answer<v1::Backup>();
  backup.set_path("/var/lib/fabricd/fabricd.db.backup-20261123T180000Z");
  backup.set_bytes(81920);
  const Said said = RunWords("backup", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_EQ(said.out,
            "Backup on the controller's host: "
            "/var/lib/fabricd/fabricd.db.backup-20261123T180000Z, 81920 bytes.\n");
  EXPECT_EQ(controller.LastRequest<v1::CreateBackupRequest>().author(), "ada");
}

TEST(Nodes, TheActivePortsOfALostNodeAreNotKnown) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(
      R"({"nodes": [{"name": "n1", "state": "NODE_STATE_LOST", "ports": 2}]})");
  EXPECT_THAT(RunWords("nodes", controller).out, HasSubstr(" ?/2 "));
}

TEST(Validate, NamesTheNodesThatWereNotJudged) {
  FakeController controller;
  controller.Answer<v1::ValidateResponse>() = FromText<v1::ValidateResponse>(R"({
    "nodes": 2, "rules": 160, "counts": {"pass": 172, "fail": 1},
    "not_judged": [{"name": "n1", "reason": "lost since 2026-11-21T01:17:00Z: no message for 3 s"}],
    "findings": [{"id": "a", "rule": "node_connected", "verdict": "VERDICT_FAIL",
      "severity": "SEVERITY_ERROR", "subject": {"scope": "SCOPE_NODE", "node": "n1"}}]})");
  const Said said = RunWords("validate", controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("2 of 3 nodes judged; n1 lost since 2026-11-21T01:17:00Z: no "
                                  "message for 3 s\n"));
}

v1::Campaign Pings(const std::string& ping) {
  return FromText<v1::Campaign>(R"({"id": "c1", "state": "CAMPAIGN_STATE_DONE", "rounds": 1,
    "probes_planned": 4, "probes_ok": 2, "probes_lossy": 1, "probes_cancelled": 2,
    "results": [{"round": 1, "from": {"node": "n1", "device": "mlx5_0", "port": 1},
      "to": {"node": "n2", "device": "mlx5_0", "port": 1}, "probe": {"ud_ping": {}},
      "result": {"status": "PROBE_STATUS_OK", "ping": )" +
                                ping + "}}]}");
}

TEST(PingTable, ARoundTripThatIsNotKnownIsAbsent) {
  FakeController controller;
  controller.Answer<v1::Campaign>() = Pings(R"({"sent": 20, "answered": 20})");
  for (const char* command : {"probe show c1", "matrix c1"})
    EXPECT_THAT(RunWords(command, controller).out, Not(HasSubstr("0.00"))) << command;
  EXPECT_THAT(RunWords("probe show c1", controller).out, HasSubstr("  ok "));
}

TEST(PingTable, AProbeWithLossIsLossy) {
  FakeController controller;
  controller.Answer<v1::Campaign>() = Pings(
      R"({"sent": 300, "answered": 249, "lost": 51, "network_round_trip": {"median_us": 3.5}})");
  const std::string out = RunWords("probe show c1", controller).out;
  EXPECT_THAT(out, HasSubstr("  lossy "));
  EXPECT_THAT(out, HasSubstr("1 ok, 1 lossy, 0 failed, 2 cancelled"));
}

}  // namespace
}  // namespace fabric::ctl
