#include "daemon/api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fabric::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsText, AnEmptyFleetIsZeroAndNotAbsent) {
  const std::string text = MetricsText({});
  EXPECT_THAT(text, HasSubstr("fabric_nodes{state=\"connected\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_nodes{state=\"lost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_campaigns{state=\"running\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE fabric_store_failures_total counter\n"));
  EXPECT_THAT(text, Not(HasSubstr("fabric_probe_latency_seconds")));
}

TEST(MetricsText, TurnsHaveHistogramsAndTheLongestByKind) {
  control::TurnRecorder recorder({});
  recorder.Record({.kind = control::TurnKind::kTickRules, .waited = 2ms, .length = 30ms},
                  SteadyTime(100s));
  MetricsInput input;
  input.turns = recorder.Read(SteadyTime(200s));
  const std::string text = MetricsText(input);
  for (const char* line :
       {"fabric_controller_turn_seconds_bucket{kind=\"tick_rules\",le=\"0.01\"} 0\n",
        "fabric_controller_turn_seconds_bucket{kind=\"tick_rules\",le=\"0.05\"} 1\n",
        "fabric_controller_turn_wait_seconds_count{kind=\"tick_rules\"} 1\n",
        "fabric_controller_longest_turn_seconds{kind=\"tick_rules\",since=\"start\"} 0.03\n",
        "fabric_controller_longest_turn_seconds{kind=\"tick_rules\",since=\"minute\"} 0\n",
        "fabric_controller_longest_turn_wait_seconds{kind=\"tick_rules\",since=\"start\"} 0.002\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsText, TheStoreShowsWhatItHoldsBackAndWhatIsDamaged) {
  MetricsInput input;
  input.fleet.store_pending = 5;
  input.fleet.store_dropped = 6;
  input.fleet.store_damaged_rows = 7;
  input.fleet.refused = {{"agent_message_bytes", 8}};
  const std::string text = MetricsText(input);
  for (const char* line :
       {"fabric_store_pending_writes 5\n", "fabric_store_dropped_writes_total 6\n",
        "fabric_store_damaged_rows 7\n",
        "fabric_agent_messages_refused_total{reason=\"agent_message_bytes\"} 8\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsText, TlsHasItsEndAndItsRefusedFilesOnlyWithTls) {
  EXPECT_THAT(MetricsText({}), Not(HasSubstr("\nfabric_tls_")));
  MetricsInput input;
  input.tls = TlsNumbers{.not_before_seconds = 1'700'000'000,
                         .not_after_seconds = 1'800'000'000,
                         .files_refused = true};
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_tls_certificate_not_before_seconds 1700000000\n"));
  EXPECT_THAT(text, HasSubstr("fabric_tls_certificate_not_after_seconds 1800000000\n"));
  EXPECT_THAT(text, HasSubstr("fabric_tls_files_refused 1\n"));
}

TEST(MetricsText, TheExportByOtlpIsShownOnlyIfThereIsOne) {
  EXPECT_THAT(MetricsText({}), Not(HasSubstr("fabric_otlp_")));
  MetricsInput input;
  input.otlp = {{.signal = "metrics", .exports = {{"ok", 3}, {"retry", 2}}, .dropped = 0},
                {.signal = "logs", .exports = {{"ok", 0}}, .dropped = 7}};
  const std::string text = MetricsText(input);
  for (const char* line : {"fabric_otlp_exports_total{signal=\"metrics\",outcome=\"ok\"} 3\n",
                           "fabric_otlp_exports_total{signal=\"metrics\",outcome=\"retry\"} 2\n",
                           "fabric_otlp_exports_total{signal=\"logs\",outcome=\"ok\"} 0\n",
                           "fabric_otlp_dropped_total{signal=\"metrics\"} 0\n",
                           "fabric_otlp_dropped_total{signal=\"logs\"} 7\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsText, NamesTheNodesOfFindingsAndTheLostOnes) {
  MetricsInput input;
  input.fleet.nodes["n1"] = {.connected = true,
                             .findings = {{{"port_active", v1::SEVERITY_CRITICAL}, 1}}};
  input.fleet.nodes["n2"] = {.connected = true};
  input.fleet.nodes["n3"] = {.connected = false};
  const std::string text = MetricsText(input);
  for (const char* line :
       {"fabric_node_findings_open{node=\"n1\",rule=\"port_active\",severity=\"critical\"} 1\n",
        "fabric_node_connected{node=\"n2\"} 1\n", "fabric_node_connected{node=\"n3\"} 0\n",
        "fabric_nodes{state=\"lost\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("fabric_node_findings_open{node=\"n2\"")));
}

TEST(MetricsText, CountsPortsAndFindings) {
  MetricsInput input;
  input.fleet.ports = {{v1::PORT_STATE_ACTIVE, 1}, {v1::PORT_STATE_UNSPECIFIED, 1}};
  input.fleet.findings_open[{"port_active", v1::SEVERITY_CRITICAL}] = 0;
  input.fleet.findings_open[{"pfc_equal_on_rail", v1::SEVERITY_ERROR}] = 1;
  input.fleet.findings_silenced[v1::SEVERITY_ERROR] = 1;
  input.fleet.verdicts.set_pass(41);
  const std::string text = MetricsText(input);
  for (const char* line :
       {"fabric_ports{state=\"active\"} 1\n", "fabric_ports{state=\"unknown\"} 1\n",
        "fabric_findings_open{rule=\"pfc_equal_on_rail\",severity=\"error\"} 1\n",
        "fabric_findings_open{rule=\"port_active\",severity=\"critical\"} 0\n",
        "fabric_findings_silenced{severity=\"error\"} 1\n",
        "fabric_findings_silenced{severity=\"critical\"} 0\n",
        "fabric_rule_verdicts{verdict=\"pass\"} 41\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MetricsText, TheMeshIsSummedByRailAndLeaf) {
  MetricsInput input;
  control::MeshNumbers& mesh = input.fleet.mesh;
  mesh.rails[3].pings = {.sent = 100, .lost = 7, .voided = 3};
  mesh.leaves["leaf1"] = {.sent = 100, .lost = 7, .voided = 3};
  std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_mesh_pings{rail=\"3\",result=\"answered\"} 90\n"));
  EXPECT_THAT(text, HasSubstr("fabric_mesh_leaf_pings{leaf=\"leaf1\",result=\"lost\"} 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("fabric_mesh_round_trip_seconds"))) << "nothing was timed";
  mesh.rails[3].round_trip_us.Add(5);
  mesh.worst_loss = {{.from_leaf = "leaf1", .to_leaf = "leaf2", .rail = 3, .value = 0.07}};
  text = MetricsText(input);
  EXPECT_THAT(text,
              HasSubstr("fabric_mesh_round_trip_seconds{rail=\"3\",aggregate=\"max\"} 5e-06"));
  EXPECT_THAT(text, HasSubstr("fabric_mesh_worst_loss_ratio{from_leaf=\"leaf1\",to_leaf="
                              "\"leaf2\",rail=\"3\"} 0.07"));
}

TEST(MetricsText, TheNumberOfSeriesDoesNotGrowWithThePairsOfLeaves) {
  const auto series = [](std::size_t leaves) {
    std::vector<v1::MeshLeafPair> pairs;
    for (std::size_t from = 0; from < leaves; ++from)
      for (std::size_t to = 0; to < leaves; ++to) {
        v1::MeshLeafPair& pair = pairs.emplace_back();
        pair.set_from_leaf("leaf" + std::to_string(from) + std::string(300, 'x'));
        pair.set_to_leaf("leaf" + std::to_string(to) + std::string(300, 'x'));
        pair.set_rail(static_cast<std::uint32_t>(to % 8));
        pair.set_sent(100);
        pair.set_lost(from % 3);
        pair.set_median_us(5);
      }
    MetricsInput input;
    input.fleet.mesh = control::NumbersOf(pairs);
    const std::string text = MetricsText(input);
    EXPECT_THAT(text, Not(HasSubstr(std::string(65, 'x'))));
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  // Three series for each leaf, and nothing else.
  EXPECT_EQ(series(200) - series(100), 3u * 100);
  EXPECT_EQ(series(1200), series(1000)) << "more than are listed";
}

TEST(MetricsText, TellHowFarTheInfinibandTopologyIsKnown) {
  MetricsInput input;
  EXPECT_THAT(MetricsText(input), Not(HasSubstr("fabric_infiniband_topology")));
  input.fleet.infiniband = {
      .known = true, .placed = 12, .lid_mismatches = 2, .unknown = 3, .made_at_seconds = 1.8e9};
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"placed\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"other_lid\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"unknown\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_made_seconds 1800000000\n"));
}

TEST(MetricsText, ProbesAreAggregatedOverARail) {
  MetricsInput input;
  for (const double us : {3, 1, 2}) input.fleet.newest[0].latency_us.Add(us);
  for (const double bps : {8e9, 24e9}) input.fleet.newest[0].bandwidth_bps.Add(bps);
  input.fleet.newest[1].latency_us.Add(50);
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_probe_latency_seconds{rail=\"0\",aggregate=\"min\"} 1e-06"));
  EXPECT_THAT(text, HasSubstr("{rail=\"0\",aggregate=\"max\"} 3e-06"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "fabric_probe_bandwidth_bytes_per_second{rail=\"0\",aggregate=\"max\"} 3000000000"));
  EXPECT_THAT(text, HasSubstr("fabric_probe_latency_seconds{rail=\"1\",aggregate=\"min\"} 5e-05"));
  EXPECT_THAT(text, Not(HasSubstr("fabric_probe_bandwidth_bytes_per_second{rail=\"1\"")));
}

TEST(MetricsText, PortsOfARailHaveStatesAndExtremes) {
  MetricsInput input;
  EXPECT_THAT(MetricsText(input), Not(HasSubstr("fabric_rail_port")));
  input.fleet.rails[3] = {.states = {{v1::PORT_STATE_ACTIVE, 7}, {v1::PORT_STATE_INIT, 1}},
                          .rates_bps = {{100'000'000'000, 1}, {400'000'000'000, 6}},
                          .mtus_bytes = {{4096, 7}}};
  input.fleet.rails[4].states[v1::PORT_STATE_DOWN] = 2;
  const std::string text = MetricsText(input);
  for (const char* line : {"fabric_rail_ports{rail=\"3\",state=\"active\"} 7\n",
                           "fabric_rail_ports{rail=\"3\",state=\"down\"} 0\n",
                           "fabric_rail_ports{rail=\"3\",state=\"init\"} 1\n",
                           "_rate_bytes_per_second{rail=\"3\",aggregate=\"min\"} 12500000000\n",
                           "_rate_bytes_per_second{rail=\"3\",aggregate=\"max\"} 50000000000\n",
                           "fabric_rail_port_mtu_bytes{rail=\"3\",aggregate=\"min\"} 4096\n",
                           "fabric_rail_port_mtu_bytes{rail=\"3\",aggregate=\"max\"} 4096\n",
                           "fabric_rail_ports{rail=\"4\",state=\"down\"} 2\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("_bytes{rail=\"4\"")));
}

TEST(MetricsText, CallsAreCountedAndTheirTimeIsAHistogram) {
  CallMetrics calls;
  calls.Count({"ListNodes", "rest", Code::kOk}, 2ms);
  calls.Count({"ListNodes", "rest", Code::kOk}, 1ms);
  calls.Count({"ListNodes", "rest", Code::kNotFound}, 10s);
  MetricsInput input;
  input.calls = calls.Read();
  const std::string text = MetricsText(input);
  EXPECT_THAT(text,
              HasSubstr("fabric_api_requests_total{method=\"ListNodes\",transport=\"rest\",code="
                        "\"OK\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("transport=\"rest\",le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("transport=\"rest\",le=\"0.005\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("transport=\"rest\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fabric_api_request_duration_seconds_count{method=\"ListNodes\","
                              "transport=\"rest\"} 3\n"));
}

TEST(MetricsText, RefusedCallsAndTheAuditLogAreCounted) {
  MetricsInput input;
  input.access = {
      .unauthenticated = 3, .denied = 2, .limited = 5, .audit_pending = 1, .audit_dropped = 4};
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_access_refused_total{reason=\"unauthenticated\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fabric_access_refused_total{reason=\"denied\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fabric_access_refused_total{reason=\"limit\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("fabric_audit_pending_entries 1\n"));
  EXPECT_THAT(text, HasSubstr("fabric_audit_dropped_total 4\n"));
}

}  // namespace
}  // namespace fabric::api
