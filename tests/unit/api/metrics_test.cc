#include "daemon/api/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabric::api {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

void AddPair(v1::Campaign& campaign, std::uint32_t rail, double median_us, double bps) {
  v1::PairResult& latency = *campaign.add_results();
  latency.mutable_from()->set_rail(rail);
  latency.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  latency.mutable_result()->mutable_latency()->set_median_us(median_us);
  v1::PairResult& bandwidth = *campaign.add_results();
  bandwidth.mutable_from()->set_rail(rail);
  bandwidth.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  bandwidth.mutable_result()->mutable_bandwidth()->set_mean_bps(bps);
}

TEST(MetricsText, AnEmptyFleetIsZeroAndNotAbsent) {
  const std::string text = MetricsText({});
  EXPECT_THAT(text, HasSubstr("fabric_nodes{state=\"connected\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_nodes{state=\"lost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_campaigns{state=\"running\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE fabric_store_failures_total counter\n"));
  EXPECT_THAT(text, Not(HasSubstr("fabric_probe_latency_seconds")));
}

TEST(MetricsText, NamesTheNodesOfFindingsAndTheLostOnes) {
  MetricsInput input;
  for (const char* name : {"n1", "n2", "n3"}) {
    v1::NodeSummary& node = *input.nodes.add_nodes();
    node.set_name(name);
    node.set_state(node.name() == "n3" ? v1::NODE_STATE_LOST : v1::NODE_STATE_CONNECTED);
  }
  v1::Finding& finding = *input.findings.add_findings();
  finding.set_rule("duplicate_gid");
  finding.set_severity(v1::SEVERITY_CRITICAL);
  finding.set_verdict(v1::VERDICT_FAIL);
  for (const char* name : {"n1", "n2"}) finding.add_affected()->set_node(name);
  const std::string text = MetricsText(input);
  for (const char* line :
       {"fabric_node_findings_open{node=\"n1\",severity=\"critical\"} 1\n",
        "fabric_node_findings_open{node=\"n2\",severity=\"critical\"} 1\n",
        "fabric_node_connected{node=\"n2\"} 1\n", "fabric_node_connected{node=\"n3\"} 0\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("fabric_node_findings_open{node=\"n3\"")));
}

TEST(MetricsText, CountsNodesPortsAndFindings) {
  MetricsInput input;
  input.nodes.add_nodes()->set_state(v1::NODE_STATE_CONNECTED);
  input.nodes.add_nodes()->set_state(v1::NODE_STATE_LOST);
  input.devices.add_devices()->set_state(v1::PORT_STATE_ACTIVE);
  input.devices.add_devices();
  v1::RuleInfo& quiet = *input.rules.add_rules();
  quiet.set_id("port_active");
  quiet.set_severity(v1::SEVERITY_CRITICAL);
  for (const auto verdict : {v1::VERDICT_FAIL, v1::VERDICT_UNKNOWN}) {
    v1::Finding& finding = *input.findings.add_findings();
    finding.set_rule("pfc_equal_on_rail");
    finding.set_severity(v1::SEVERITY_ERROR);
    finding.set_verdict(verdict);
  }
  v1::Finding& silenced = *input.findings.add_findings();
  silenced.set_rule("pfc_equal_on_rail");
  silenced.set_severity(v1::SEVERITY_ERROR);
  silenced.set_verdict(v1::VERDICT_FAIL);
  silenced.mutable_silenced()->set_id("s1");
  input.findings.mutable_counts()->set_pass(41);
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_nodes{state=\"lost\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fabric_ports{state=\"active\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fabric_ports{state=\"unknown\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("fabric_findings_open{rule=\"pfc_equal_on_rail\",severity=\"error\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("fabric_findings_open{rule=\"port_active\",severity=\"critical\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_findings_silenced{severity=\"error\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fabric_findings_silenced{severity=\"critical\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fabric_rule_verdicts{verdict=\"pass\"} 41\n"));
}

TEST(MetricsText, TheMeshIsTheSameForAnyNumberOfNodes) {
  MetricsInput input;
  v1::MeshLeafPair& pair = *input.mesh.add_leaf_pairs();
  pair.set_from_leaf("leaf1");
  pair.set_to_leaf("leaf2");
  pair.set_rail(3);
  pair.set_sent(100);
  pair.set_lost(7);
  pair.set_voided(3);
  std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_mesh_pings{from_leaf=\"leaf1\",to_leaf=\"leaf2\",rail=\"3\","
                              "result=\"answered\"} 90\n"));
  EXPECT_THAT(text, HasSubstr("result=\"lost\"} 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("fabric_mesh_round_trip_seconds"))) << "nothing was timed";
  pair.set_median_us(5);
  text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("rail=\"3\"} 5e-06\n"));
}

TEST(MetricsText, TellHowFarTheInfinibandTopologyIsKnown) {
  MetricsInput input;
  EXPECT_THAT(MetricsText(input), Not(HasSubstr("fabric_infiniband_topology")));
  input.infiniband = {
      .known = true, .placed = 12, .lid_mismatches = 2, .unknown = 3, .made_at_seconds = 1.8e9};
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"placed\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"other_lid\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_ports{state=\"unknown\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fabric_infiniband_topology_made_seconds 1800000000\n"));
}

TEST(MetricsText, ProbesAreAggregatedOverARail) {
  MetricsInput input;
  AddPair(input.newest, 0, 3, 8e9);
  AddPair(input.newest, 0, 1, 16e9);
  AddPair(input.newest, 0, 2, 24e9);
  AddPair(input.newest, 1, 50, 8e6);
  input.newest.add_results()->mutable_result()->set_status(v1::PROBE_STATUS_TIMED_OUT);
  const std::string text = MetricsText(input);
  EXPECT_THAT(text, HasSubstr("fabric_probe_latency_seconds{rail=\"0\",aggregate=\"min\"} 1e-06"));
  EXPECT_THAT(text,
              HasSubstr("fabric_probe_latency_seconds{rail=\"0\",aggregate=\"median\"} 2e-06"));
  EXPECT_THAT(text, HasSubstr("{rail=\"0\",aggregate=\"max\"} 3e-06"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "fabric_probe_bandwidth_bytes_per_second{rail=\"0\",aggregate=\"max\"} 3000000000"));
  EXPECT_THAT(text, HasSubstr("fabric_probe_latency_seconds{rail=\"1\",aggregate=\"min\"} 5e-05"));
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

}  // namespace
}  // namespace fabric::api
