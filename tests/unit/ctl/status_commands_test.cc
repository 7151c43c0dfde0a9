// The commands status, diagnose, port, ibdev2netdev, top and probe cancel.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "ctl/render.h"
#include "tests/testing/golden.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using fabric::testing::MatchesGolden;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kTroubledFindings = R"({
  "counts": {"pass": 96, "fail": 4, "unknown": 1},
  "findings": [
    {"id": "f0", "rule": "duplicate_gid", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_CRITICAL", "subject": {"scope": "SCOPE_RAIL", "rail": 0},
     "title": "GID 10.10.0.1 on n1 and n2", "state": "FINDING_STATE_OPEN",
     "opened_at": "2026-11-21T01:16:08Z", "explains": ["f3"],
     "evidence": [{"what": "ports with the GID", "expected": "1", "seen": "2", "basis": "rule"}],
     "remedies": [{"command": "ip address del 10.10.0.1 dev rail0", "host": "n2",
                   "interrupts_traffic": true}]},
    {"id": "f1", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_ERROR", "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n10", "device": "rxe1", "port": 1},
     "title": "MTU 1500, expected 4200", "opened_at": "2026-11-21T00:16:06Z"},
    {"id": "f2", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_ERROR", "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n2", "device": "rxe1", "port": 1},
     "title": "MTU 1500, expected 4200", "opened_at": "2026-11-18T01:16:06Z"},
    {"id": "f3", "rule": "gid_reachable", "verdict": "VERDICT_FAIL", "explained_by": "f0",
     "severity": "SEVERITY_ERROR", "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_NODE", "node": "n1"}, "title": "explained",
     "opened_at": "2026-11-21T01:16:08Z"},
    {"id": "f4", "rule": "peermem_loaded", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_WARNING", "state": "FINDING_STATE_OPEN", "silenced": {"id": "s1"},
     "subject": {"scope": "SCOPE_NODE", "node": "n3"}, "title": "silenced",
     "opened_at": "2026-11-20T01:16:08Z"},
    {"id": "f5", "rule": "port_active", "verdict": "VERDICT_FAIL",
     "severity": "SEVERITY_CRITICAL", "state": "FINDING_STATE_RESOLVED",
     "subject": {"scope": "SCOPE_PORT", "node": "n3", "device": "rxe0", "port": 1},
     "title": "state is DOWN, expected ACTIVE", "opened_at": "2026-11-21T01:00:00Z",
     "resolved_at": "2026-11-21T01:05:00Z"}]})";

FakeController TroubledFleet() {
  FakeController controller;
  controller.Answer<v1::GetVersionResponse>() = FromText<v1::GetVersionResponse>(
      R"({"version": "0.1.0", "started_at": "2026-11-19T01:16:05Z"})");
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(R"({"nodes": [
    {"name": "n1", "state": "NODE_STATE_CONNECTED", "state_since": "2026-11-20T01:16:05Z",
     "ports_active": 2, "ports": 2},
    {"name": "n2", "state": "NODE_STATE_LOST", "state_since": "2026-11-21T01:17:00Z", "ports": 2,
     "lost_reason": "no message for 3 s"}]})");
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(kTroubledFindings);
  controller.Answer<v1::ListCampaignsResponse>() = FromText<v1::ListCampaignsResponse>(
      R"({"campaigns": [{"id": "c2", "state": "CAMPAIGN_STATE_RUNNING", "probes_planned": 96,
           "probes_ok": 40, "rounds": 7, "rounds_done": 3, "started_at": "2026-11-21T01:19:00Z"},
          {"id": "c1", "state": "CAMPAIGN_STATE_DONE", "probes_planned": 12, "probes_ok": 12,
           "ended_at": "2026-11-21T01:10:00Z"}]})");
  controller.Answer<v1::MeshStatus>() = FromText<v1::MeshStatus>(
      R"({"enabled": true, "ports": 4, "windows": 2, "pings_per_second": 8})");
  return controller;
}

TEST(StatusCommand, ShowsWhatIsWrongByCauseAndWhatChanged) {
  FakeController controller = TroubledFleet();
  const Said said = RunWords("status", controller);
  EXPECT_TRUE(MatchesGolden("ctl/status", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_TRUE(controller.LastRequest<v1::ListFindingsRequest>().include_resolved());
}

// The findings of TroubledFleet with texts and ids as long as real ones.
FakeController FleetWithLongTexts() {
  FakeController controller = TroubledFleet();
  for (v1::Finding& finding : *controller.Answer<v1::ListFindingsResponse>().mutable_findings()) {
    finding.set_id(Format("8f21c03be94d7a{}", finding.id()));
    finding.set_title(finding.title() + ", as the switch leaf-12 announces it for the rail");
  }
  return controller;
}

TEST(StatusCommand, ANarrowTerminalShowsWholeNamesOfRulesAndWhatIsWrong) {
  FakeController controller = FleetWithLongTexts();
  for (const std::size_t columns : {80, 110}) {
    const Said said = RunWords("status", controller, {.columns = columns});
    EXPECT_TRUE(MatchesGolden(Format("ctl/status_{}", columns), said.out));
    EXPECT_THAT(said.out, HasSubstr(" mtu_equal_on_rail "));
    for (const std::string_view line : Split(said.out, '\n')) {
      if (line.starts_with("fabricd:") || line.starts_with("Coverage:")) continue;
      EXPECT_LE(DisplayWidth(line), columns) << line;
    }
  }
  EXPECT_THAT(RunWords("status -o wide", controller, {.columns = 80}).out,
              HasSubstr("  8f21c03be94d7af0\n"));
  EXPECT_THAT(RunWords("status", controller, {.columns = 80, .ascii = true}).out,
              Not(HasSubstr("…")));
}

TEST(StatusCommand, KeepsAllColumnsWhereTheyFit) {
  FakeController controller = TroubledFleet();
  EXPECT_EQ(RunWords("status", controller, {.columns = 120}).out,
            RunWords("status", controller).out);
}

TEST(StatusCommand, AHealthyFleetExitsWithZero) {
  FakeController controller;
  const Said said = RunWords("status", controller);
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_THAT(said.err, HasSubstr("No open findings."));
  EXPECT_THAT(said.out, HasSubstr("no verdicts yet"));
}

TEST(StatusCommand, AStoreThatFailsIsAFault) {
  FakeController controller;
  controller.Answer<v1::GetVersionResponse>().mutable_store()->set_failure("disk full");
  const Said said = RunWords("status", controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("cannot write its state: disk full"));
}

TEST(Diagnose, ShowsCausesChangesAndWhatToType) {
  FakeController controller = TroubledFleet();
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"summary": {"name": "n2", "state": "NODE_STATE_CONNECTED"}})");
  controller.Answer<v1::DiffNodeResponse>() = FromText<v1::DiffNodeResponse>(R"({
    "since": "2026-11-18T00:16:06Z", "differences": [
      {"path": "net_interfaces[rail0].mtu_bytes", "before": "4200", "after": "1500",
       "changed_at": "2026-11-18T01:16:00Z"},
      {"path": "counters[rail0].x", "before": "1", "after": "2", "counter": true,
       "changed_at": "2026-11-18T01:16:00Z"}]})");
  const Said said = RunWords("diagnose n2", controller);
  EXPECT_TRUE(MatchesGolden("ctl/diagnose", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  // From an hour before the oldest finding
  EXPECT_EQ(controller.LastRequest<v1::DiffNodeRequest>().since_seconds(), 3 * 86400 + 234 + 3600);
}

TEST(Diagnose, TakesListsAndNamesAFindingOfSeveralNodesOnce) {
  FakeController controller = TroubledFleet();
  controller.Answer<v1::GetNodeResponse>().mutable_summary()->set_name("n1");
  const Said said = RunWords("diagnose --nodes n[1-2] -o name", controller);
  EXPECT_EQ(said.out, "f0\nf2\nf1\nf4\n");
  EXPECT_EQ(controller.Requests<v1::GetNodeRequest>().size(), 2U);
  FakeController healthy;
  EXPECT_EQ(RunWords("diagnose n1", healthy).status, kExitOk);
  EXPECT_THAT(RunWords("diagnose", healthy).err, HasSubstr("expected NODE, --nodes or --job"));
}

TEST(Diagnose, TheNodesOfAJobAreThoseOfItsNewestCertificate) {
  FakeController controller;
  controller.Answer<v1::ListCertificatesResponse>() =
      FromText<v1::ListCertificatesResponse>(R"({"certificates": [
      {"id": "cert-1", "state": "CERTIFICATE_STATE_DONE", "verdict": "VERDICT_PASS",
       "request": {"job_id": "4711", "nodes": ["n9"]}, "started_at": "2026-11-21T00:00:00Z"},
      {"id": "cert-2", "state": "CERTIFICATE_STATE_DONE", "verdict": "VERDICT_FAIL",
       "request": {"job_id": "4711", "nodes": ["n1", "n2"]},
       "started_at": "2026-11-21T01:00:00Z"}]})");
  const Said said = RunWords("diagnose --job 4711", controller);
  EXPECT_EQ(controller.LastRequest<v1::ListCertificatesRequest>().filter(),
            "request.job_id=\"4711\"");
  EXPECT_THAT(said.out, HasSubstr("Job 4711: 2 nodes of certificate cert-2 (FAIL)\n"));
  const auto asked = controller.Requests<v1::GetNodeRequest>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].name(), "n1");
}

TEST(Diagnose, AJobWithoutACertificateIsAnErrorThatSaysWhatToDo) {
  FakeController controller;
  Said said = RunWords("diagnose --job 4711", controller);
  EXPECT_EQ(said.status, kExitError);
  EXPECT_THAT(said.err, HasSubstr("no certificate has the job ID 4711; give the nodes, with Slurm: "
                                  "fabricctl diagnose --nodes \"$(squeue -j 4711 -ho %N)\""));
  said = RunWords("diagnose --job 4\"7", controller);
  EXPECT_EQ(said.status, kExitUsage);
}

TEST(Diagnose, ALostNodeIsAFault) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"summary": {"name": "n2", "state": "NODE_STATE_LOST", "lost_reason": "power",
          "state_since": "2026-11-21T01:00:00Z"}})");
  const Said said = RunWords("diagnose n2", controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_EQ(said.out, "n2: lost for 20m: power; findings are of its last report\n");
}

v1::GetNodeResponse NodeWithCounters(std::string_view at, std::uint64_t bytes,
                                     std::uint64_t pauses) {
  auto node = FromText<v1::GetNodeResponse>(R"({"summary": {"name": "n1"}, "snapshot": {
    "rdma_devices": [
      {"name": "mlx5_0", "ports": [{"number": 1, "state": "PORT_STATE_ACTIVE", "netdev": "rail0"}]},
      {"name": "mlx5_1", "ports": [{"number": 1, "state": "PORT_STATE_DOWN"}]}],
    "net_interfaces": [{"name": "rail0", "oper_state": "OPER_STATE_UP"}],
    "lldp_neighbors": [{"netdev": "rail0", "system_name": "leaf1", "port_id": "swp3"}]}})");
  auto& snapshot = *node.mutable_snapshot();
  const auto time =
      FromText<v1::GetVersionResponse>(std::string(R"({"started_at": ")").append(at).append("\"}"));
  *snapshot.mutable_taken_at() = time.started_at();
  v1::CounterSet& port = *snapshot.add_counters();
  port.set_device("mlx5_0");
  port.set_port(1);
  v1::Counter& sent = *port.add_counters();
  sent.set_name("port_xmit_data");
  sent.set_neutral("rdma_tx_bytes");
  sent.set_value(bytes);
  v1::CounterSet& netdev = *snapshot.add_counters();
  netdev.set_netdev("rail0");
  for (const int priority : {3, 4}) {
    v1::Counter& pause = *netdev.add_counters();
    pause.set_name("rx_prio_pause");
    pause.set_neutral("pfc_rx_frames_prio" + std::to_string(priority));
    pause.set_value(priority == 3 ? pauses : 0);
  }
  return node;
}

TEST(Top, ShowsRatesAndLeavesOutCountersThatAPortDoesNotHave) {
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>().add_nodes()->set_name("n1");
  controller.Answers<v1::GetNodeResponse>() = {
      NodeWithCounters("2026-11-21T01:16:00Z", 1'000'000'000, 7),
      NodeWithCounters("2026-11-21T01:16:02Z", 11'000'000'000, 107)};
  const Said said = RunWords("top", controller);
  EXPECT_TRUE(MatchesGolden("ctl/top", said.out));
  EXPECT_EQ(said.status, kExitOk);
}

// fabricd has the settings of the last report, and newer counters.
TEST(Top, RatesAreBetweenTwoSamplesOfTheCountersOfOneReport) {
  FakeController controller;
  auto before = NodeWithCounters("2026-11-21T01:16:00Z", 1'000'000'000, 7);
  auto after = NodeWithCounters("2026-11-21T01:16:02Z", 11'000'000'000, 107);
  *before.mutable_counters_at() = before.snapshot().taken_at();
  *after.mutable_counters_at() = after.snapshot().taken_at();
  *after.mutable_snapshot()->mutable_taken_at() = before.snapshot().taken_at();
  controller.Answers<v1::GetNodeResponse>() = {before, after};
  EXPECT_TRUE(MatchesGolden("ctl/top", RunWords("top n1", controller).out));
}

TEST(Top, ACounterThatWasResetHasNoRate) {
  FakeController controller;
  controller.Answers<v1::GetNodeResponse>() = {
      NodeWithCounters("2026-11-21T01:16:00Z", 1'000'000'000, 7),
      NodeWithCounters("2026-11-21T01:16:02Z", 5, 7)};
  EXPECT_THAT(RunWords("top n1 -o csv", controller).out,
              HasSubstr("n1/mlx5_0/1,rail0,ACTIVE,,,,0,,\n"));
}

TEST(Top, JsonLeavesOutAbsentValues) {
  FakeController controller;
  controller.Answers<v1::GetNodeResponse>() = {
      NodeWithCounters("2026-11-21T01:16:00Z", 1'000'000'000, 7),
      NodeWithCounters("2026-11-21T01:16:02Z", 5, 7)};
  const std::string json = RunWords("top n1 -o json", controller).out;
  EXPECT_THAT(json, AllOf(HasSubstr("\"ports\""), HasSubstr("\"port\": \"n1/mlx5_0/1\""),
                          HasSubstr("\"pauses_in_s\": \"0\"")));
  EXPECT_THAT(json, Not(HasSubstr("\"sent\""))) << "the counter was reset";
}

TEST(Top, ANodeThatDidNotReportIsNamed) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 1, 1);
  EXPECT_THAT(RunWords("top n1", controller).out, HasSubstr("No report within 2s from n1"));
  EXPECT_EQ(RunWords("top n1", controller, {.interrupted = true}).status, kExitInterrupted);
}

TEST(PortCommand, ShowsLinkSwitchFindingsAndCounters) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 9, 0);
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(R"({"findings": [
    {"id": "a", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n1", "device": "mlx5_0", "port": 1},
     "title": "MTU"},
    {"id": "b", "rule": "port_active", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n1", "device": "mlx5_1", "port": 1},
     "title": "x"}]})");
  const Said said = RunWords("port n1/mlx5_0/1", controller);
  EXPECT_TRUE(MatchesGolden("ctl/port", said.out));
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(RunWords("port n1/rail0", controller).out, HasSubstr("n1/mlx5_0/1"));
  EXPECT_EQ(RunWords("port n1/mlx5_0/2", controller).err,
            "fabricctl: node n1: unknown port 'mlx5_0/2'; did you mean 'mlx5_0/1'?\n");
  EXPECT_THAT(RunWords("port n1", controller).err, HasSubstr("PORT: expected NODE/DEVICE"));
}

TEST(PortCommand, HasTheRatesOfTheLastHour) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 9, 0);
  controller.Answer<v1::CounterHistory>() = FromText<v1::CounterHistory>(R"({
    "ended_at": ["2026-11-21T01:15:00Z", "2026-11-21T01:15:30Z"],
    "ports": [{"device": "mlx5_0", "port": 1, "series": [
      {"name": "rdma_tx_bytes", "windows": [0, 1], "per_second": [900, 2.5]}]}]})");
  EXPECT_THAT(RunWords("port n1/mlx5_0/1", controller).out,
              HasSubstr("rdma_tx_bytes      9  -            2.5     900\n"));
  const auto asked = controller.LastRequest<v1::GetCounterHistoryRequest>();
  EXPECT_EQ(asked.name() + "/" + asked.device(), "n1/mlx5_0");
  EXPECT_EQ(asked.port(), 1u);

  // An old value is not the rate of now.
  controller.Answer<v1::CounterHistory>().add_ended_at();
  EXPECT_THAT(RunWords("port n1/mlx5_0/1", controller).out,
              HasSubstr("rdma_tx_bytes      9  -              -     900\n"));
}

TEST(PortCommand, JsonAndYamlHaveWhatTheTableHas) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 9, 0);
  controller.Answer<v1::ListFindingsResponse>() =
      FromText<v1::ListFindingsResponse>(R"({"findings": [
    {"id": "a", "rule": "mtu_equal_on_rail", "verdict": "VERDICT_FAIL",
     "state": "FINDING_STATE_OPEN",
     "subject": {"scope": "SCOPE_PORT", "node": "n1", "device": "mlx5_0", "port": 1},
     "title": "MTU"}]})");
  controller.Answer<v1::CounterHistory>() = FromText<v1::CounterHistory>(R"({
    "ended_at": ["2026-11-21T01:15:30Z"],
    "ports": [{"device": "mlx5_0", "port": 1, "series": [
      {"name": "rdma_tx_bytes", "windows": [0], "per_second": [2.5]}]}]})");
  for (const char* format : {"json", "yaml"}) {
    const Said said = RunWords(Format("port n1/mlx5_0/1 -o {}", format), controller);
    EXPECT_EQ(said.status, kExitFindings);
    google::protobuf::Struct object;
    ASSERT_TRUE(FromJson(said.out, object).ok()) << said.out;
    const auto& members = object.fields();
    EXPECT_EQ(members.at("number").number_value(), 1);
    EXPECT_EQ(members.at("netdev").string_value(), "rail0");
    EXPECT_EQ(members.at("node").struct_value().fields().at("name").string_value(), "n1");
    EXPECT_EQ(members.at("device").struct_value().fields().at("name").string_value(), "mlx5_0");
    const auto& findings = members.at("findings").list_value();
    ASSERT_EQ(findings.values_size(), 1);
    EXPECT_EQ(findings.values(0).struct_value().fields().at("id").string_value(), "a");
    bool seen = false;
    for (const auto& value : members.at("counters").list_value().values()) {
      const auto& counter = value.struct_value().fields();
      if (!counter.contains("neutral") || counter.at("neutral").string_value() != "rdma_tx_bytes")
        continue;
      seen = true;
      EXPECT_EQ(counter.at("value").string_value(), "9");
      EXPECT_EQ(counter.at("per_second").number_value(), 2.5);
    }
    EXPECT_TRUE(seen) << said.out;
    const auto& history = members.at("history").struct_value().fields();
    EXPECT_EQ(history.at("ended_at").list_value().values_size(), 1);
  }
}

TEST(PortCommand, SaysWhyThereAreNoRates) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 9, 0);
  EXPECT_THAT(RunWords("port n1/mlx5_0/1", controller).out,
              HasSubstr("Rates:     no 30 s window is complete yet\n"));
  EXPECT_THAT(RunWords("port n1/mlx5_0/1 -o json", controller).out,
              HasSubstr("\"reason\": \"no 30 s window is complete yet\""));
}

TEST(Ibdev2netdev, HasTheFormatOfTheScript) {
  FakeController controller;
  controller.Answer<v1::GetNodeResponse>() = NodeWithCounters("2026-11-21T01:16:00Z", 9, 0);
  EXPECT_EQ(RunWords("ibdev2netdev n1", controller).out, "mlx5_0 port 1 ==> rail0 (Up)\n");
}

TEST(ProbeCancel, SendsTheId) {
  FakeController controller;
  controller.Answer<v1::Campaign>() =
      FromText<v1::Campaign>(R"({"id": "c3", "state": "CAMPAIGN_STATE_CANCELLED"})");
  const Said said = RunWords("probe cancel c3", controller);
  EXPECT_THAT(said.out, HasSubstr("campaign c3: cancelled"));
  EXPECT_EQ(controller.LastRequest<v1::CancelCampaignRequest>().id(), "c3");
}

}  // namespace
}  // namespace fabric::ctl
