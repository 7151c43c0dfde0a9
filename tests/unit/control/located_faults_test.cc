// What campaigns and the mesh locate becomes a finding, and is resolved by later ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/control/probing/expectations.h"
#include "daemon/control/probing/located_faults.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::ControlWorld;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPort = "probe_blame n2/mlx5_0/1";

// Results of rail 0 of the node, as if `change` had been done to its path.
template <class Change>
void Disturb(ControlWorld& world, const std::string& node, Change change) {
  world.agents.SetPath([=](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    if (probe.local().rail() == 0 &&
        (probe.local().node() == node || probe.remote().node() == node))
      change(result);
  });
}

void Lose(v1::ProbeResult& result) {
  result = {};
  result.set_status(v1::PROBE_STATUS_FAILED);
  result.set_reason("transport retry counter exceeded");
}

v1::Campaign RunCampaign(ControlWorld& world, const v1::CampaignSpec& spec = {}) {
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec));
  world.agents.Advance(1s);
  return campaign;
}

v1::Finding FindingOf(ControlWorld& world, const std::string& id) {
  v1::GetFindingRequest request;
  request.set_id(id);
  v1::GetFindingResponse response;
  EXPECT_TRUE(world.controller->Call(request, response, world.agents.now()).ok());
  return response.finding();
}

// Those of fabricd's own files neither replace them nor are replaced by them.
TEST(LocatedFaults, AreKeptWithFindingsAboutTheController) {
  constexpr const char* kTokens = "controller_files_accepted fleet";
  ControlWorld world;
  world.ConnectNodes(6);
  world.controller->SetFiles({.refused = {{.setting = "tokens", .reason = "t: expected a list"}}});
  world.agents.Advance(1s);
  EXPECT_THAT(world.OpenFindings(), Contains(kTokens));
  Disturb(world, "n2", Lose);
  (void)RunCampaign(world);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
  EXPECT_THAT(world.OpenFindings(), Contains(kTokens));
  world.controller->SetFiles({});
  world.agents.Advance(1s);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
  EXPECT_THAT(world.OpenFindings(), Not(Contains(kTokens)));
}

TEST(LocatedFaults, ACampaignOpensAFindingAndAHealthyOneResolvesIt) {
  ControlWorld world;
  world.ConnectNodes(6);
  Disturb(world, "n2", Lose);
  const v1::Campaign campaign = RunCampaign(world);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
  ASSERT_EQ(campaign.findings_size(), 1);
  const v1::Finding finding = FindingOf(world, campaign.findings(0));
  EXPECT_EQ(finding.severity(), v1::SEVERITY_CRITICAL);
  EXPECT_EQ(finding.located_by(), "campaign " + campaign.id());
  EXPECT_THAT(finding.title(), HasSubstr("port n2/mlx5_0/1"));
  EXPECT_THAT(finding.title(), HasSubstr("class lossless (DSCP 26, priority 3)"));
  EXPECT_EQ(finding.evidence(0).what(), "packet loss");
  EXPECT_EQ(finding.evidence(1).what(), "confidence");
  EXPECT_EQ(finding.evidence(finding.evidence_size() - 1).what(), "affected pairs");
  EXPECT_THAT(world.log.Lines(), Contains("finding n2/mlx5_0/1 open"));

  world.agents.SetPath({});
  RunCampaign(world);
  EXPECT_THAT(world.OpenFindings(), Not(Contains(kPort)));
}

TEST(LocatedFaults, ACampaignThatDidNotProbeThePortResolvesNothing) {
  ControlWorld world;
  world.ConnectNodes(6);
  Disturb(world, "n2", Lose);
  RunCampaign(world);
  world.agents.SetPath({});
  v1::CampaignSpec others;
  for (const char* node : {"n1", "n3", "n4", "n5"}) others.add_nodes(node);
  RunCampaign(world, others);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
  // Another class of traffic shows nothing about this one.
  v1::CampaignSpec other_class;
  other_class.mutable_class_choice()->set_traffic_class(0);
  RunCampaign(world, other_class);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
}

// Exact paths name a switch that no port is attached to.
TEST(LocatedFaults, AFaultOfASpineIsAboutAllPortsAndEnds) {
  LocatedFaults faults;
  blame::Fabric fabric;
  for (const char* node : {"n1", "n2", "n3"})
    fabric.endpoints.push_back(
        {.node = node, .device = "mlx5_0", .port = 1, .rail = 0, .leaf = "leaf-1"});
  v1::BlameReport broken;
  broken.set_state(v1::BLAME_STATE_DECIDED);
  v1::Suspect& spine = *broken.add_suspects();
  spine.set_kind(v1::SUSPECT_KIND_SWITCH);
  spine.set_name("switch spine-3");
  spine.set_leaf("spine-3");
  spine.set_fault(v1::FAULT_KIND_TOTAL_LOSS);
  spine.set_severity(1);
  ProbeCoverage nothing;
  const Moment now{};
  (void)faults.Take({.located_by = "campaign c1",
                     .report = broken,
                     .coverage = nothing,
                     .affected = AffectedBy(broken, fabric)},
                    now);
  ASSERT_EQ(faults.All().size(), 1U);
  EXPECT_EQ(faults.All()[0].affected_size(), 3);
  v1::BlameReport healthy;
  healthy.set_state(v1::BLAME_STATE_HEALTHY);
  const std::vector<AffectedPorts> none;
  const LocatedFaults::Result unseen = {
      .located_by = "campaign c2", .report = healthy, .coverage = nothing, .affected = none};
  (void)faults.Take(unseen, now);
  EXPECT_EQ(faults.All().size(), 1U) << "no probe was run";
  ProbeCoverage all;
  for (int round = 0; round < 20; ++round)
    for (const char* to : {"n2", "n3"}) {
      v1::PairResult result;
      result.mutable_from()->set_node("n1");
      result.mutable_to()->set_node(to);
      for (v1::ProbePort* port : {result.mutable_from(), result.mutable_to()}) {
        port->set_device("mlx5_0");
        port->set_port(1);
      }
      result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
      all.Take(result);
    }
  (void)faults.Take(
      {.located_by = "campaign c3", .report = healthy, .coverage = all, .affected = {}}, now);
  EXPECT_TRUE(faults.All().empty());
}

// Ports under the leaf of a named cable use it, and their good probes resolve it.
TEST(LocatedFaults, AFaultOfACableIsAboutThePortsUnderItsLeafAndEnds) {
  LocatedFaults faults;
  blame::Fabric fabric;
  for (const auto& [node, leaf] : {std::pair{"n1", "leaf-1"}, {"n2", "leaf-1"}, {"n3", "leaf-2"}})
    fabric.endpoints.push_back(
        {.node = node, .device = "mlx5_0", .port = 1, .rail = 0, .leaf = leaf});
  v1::BlameReport broken;
  broken.set_state(v1::BLAME_STATE_DECIDED);
  v1::Suspect& cable = *broken.add_suspects();
  cable.set_kind(v1::SUSPECT_KIND_LINK);
  cable.set_name("cable leaf-1 port 33 - spine-3 port 1");
  cable.set_leaf("leaf-1");
  cable.set_leaf_port("33");
  cable.set_fault(v1::FAULT_KIND_TOTAL_LOSS);
  cable.set_severity(1);
  ProbeCoverage nothing;
  const Moment now{};
  (void)faults.Take({.located_by = "campaign c1",
                     .report = broken,
                     .coverage = nothing,
                     .affected = AffectedBy(broken, fabric)},
                    now);
  ASSERT_EQ(faults.All().size(), 1U);
  const v1::Finding finding = faults.All()[0];
  EXPECT_EQ(finding.affected_size(), 2);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_SWITCH);
  EXPECT_EQ(finding.subject().switch_port(), "33");
  EXPECT_THAT(finding.title(), ::testing::StartsWith("cable leaf-1 port 33 - spine-3 port 1: "));
  v1::BlameReport healthy;
  healthy.set_state(v1::BLAME_STATE_HEALTHY);
  ProbeCoverage all;
  for (int round = 0; round < 20; ++round)
    for (const char* from : {"n1", "n2"}) {
      v1::PairResult result;
      result.mutable_from()->set_node(from);
      result.mutable_to()->set_node("n3");
      for (v1::ProbePort* port : {result.mutable_from(), result.mutable_to()}) {
        port->set_device("mlx5_0");
        port->set_port(1);
      }
      result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
      all.Take(result);
    }
  (void)faults.Take(
      {.located_by = "campaign c2", .report = healthy, .coverage = all, .affected = {}}, now);
  EXPECT_TRUE(faults.All().empty());
}

TEST(LocatedFaults, AFindingSurvivesARestart) {
  ControlWorld world;
  world.ConnectNodes(6);
  Disturb(world, "n2", Lose);
  RunCampaign(world);
  world.Restart();
  world.ConnectNodes(6);
  world.agents.Advance(5s);
  EXPECT_THAT(world.OpenFindings(), Contains(kPort));
  world.agents.SetPath({});
  RunCampaign(world);
  EXPECT_THAT(world.OpenFindings(), Not(Contains(kPort)));
}

TEST(LocatedFaults, AUniformlySlowFleetIsAFinding) {
  ControlWorld world;
  world.ConnectNodes(4);
  world.agents.SetPath([](const v1::ProbeAssignment&, v1::ProbeResult& result) {
    if (result.has_bandwidth()) result.mutable_bandwidth()->set_mean_bps(60e9);
  });
  const v1::Campaign campaign = RunCampaign(world);
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().DebugString();
  EXPECT_EQ(campaign.blame().suspects(0).kind(), v1::SUSPECT_KIND_FABRIC);
  EXPECT_GT(campaign.probes_below_expectation(), 0U);
  ASSERT_EQ(campaign.findings_size(), 1);
  const v1::Finding finding = FindingOf(world, campaign.findings(0));
  EXPECT_EQ(finding.title(),
            "the fabric: 60 Gb/s, expected at least 83.3 Gb/s in class lossless (DSCP 26, "
            "priority 3)");
  world.agents.SetPath({});
  RunCampaign(world);
  EXPECT_THAT(world.OpenFindings(), IsEmpty());
}

// A finding that is already open explains slow probes of its port: no other part is named for them.
TEST(LocatedFaults, FlowsThatAnOpenFindingExplainsAccuseNoOtherPart) {
  ControlWorld world;
  world.ConnectNodes(6);
  v1::NodeSnapshot small = testing::RoceNode({.number = 2});
  testing::SetMtu(small, 0, 1500);
  ASSERT_TRUE(world.agents.SendSnapshot(small).ok());
  world.agents.Advance(2s);
  ASSERT_THAT(world.OpenFindings(), Contains("mtu_equal_on_rail n2/mlx5_0/1"));
  const auto slow = [](v1::ProbeResult& result) {
    if (result.has_bandwidth()) result.mutable_bandwidth()->set_mean_bps(40e9);
  };
  Disturb(world, "n2", slow);
  const v1::Campaign explained = RunCampaign(world);
  EXPECT_GT(explained.blame().observations_explained(), 0U);
  EXPECT_EQ(explained.blame().suspects_size(), 0) << explained.blame().DebugString();
  EXPECT_EQ(explained.blame().undecided_size(), 0) << explained.blame().DebugString();
  // Another slow port has its own finding.
  world.agents.SetPath([=](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    for (const std::string& node : {probe.local().node(), probe.remote().node()})
      if (probe.local().rail() == 0 && (node == "n2" || node == "n5")) slow(result);
  });
  const v1::Campaign both = RunCampaign(world);
  ASSERT_EQ(both.blame().suspects_size(), 1) << both.blame().DebugString();
  EXPECT_EQ(both.blame().suspects(0).name(), "n5/mlx5_0/1");
}

// Nothing is known about its ports: neither a fault nor that they are well. The node is named.
TEST(LocatedFaults, AnAgentThatStopsAnsweringIsNotADeadPort) {
  ControlWorld world;
  world.ConnectNodes(6);
  world.agents.Behave("n4", testing::Behaviour::kSilent);
  const v1::Campaign campaign = RunCampaign(world);
  std::size_t failed = 0;
  for (const v1::PairResult& result : campaign.results()) {
    if (result.result().status() == v1::PROBE_STATUS_OK) continue;
    ++failed;
    EXPECT_TRUE(result.from().node() == "n4" || result.to().node() == "n4");
  }
  EXPECT_GT(failed, 0U);
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().DebugString();
  const v1::Suspect& suspect = campaign.blame().suspects(0);
  EXPECT_EQ(suspect.kind(), v1::SUSPECT_KIND_HOST);
  EXPECT_EQ(suspect.name(), "n4");
  EXPECT_EQ(suspect.fault(), v1::FAULT_KIND_HOST_STALLED);
}

TEST(LocatedFaults, ANodeWhoseConnectionBreaksDuringACampaignIsNamed) {
  ControlWorld world;
  world.ConnectNodes(6);
  world.agents.Behave("n4", testing::Behaviour::kVanish);
  const v1::Campaign campaign = RunCampaign(world);
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().DebugString();
  const v1::Suspect& suspect = campaign.blame().suspects(0);
  EXPECT_EQ(suspect.kind(), v1::SUSPECT_KIND_HOST);
  EXPECT_EQ(suspect.name(), "n4");
  EXPECT_EQ(suspect.fault(), v1::FAULT_KIND_AGENT_SILENT);
}

v1::ProbeExpectation Limits(const std::vector<v1::NodeSnapshot>& nodes, v1::PairResult result,
                            const v1::Expectations& expect) {
  v1::Profile site;
  site.set_name("site");
  *site.mutable_expect() = expect;
  fleet::Fleet fleet;
  for (const v1::NodeSnapshot& node : nodes) fleet.Put(node, {});
  const profile::Profile profile = *profile::Profile::Make(site, {});
  const Expectations limits(fleet::FleetView(fleet, profile), {});
  for (const auto& [port, node] :
       {std::pair(result.mutable_from(), "n1"), std::pair(result.mutable_to(), "n2")}) {
    port->set_node(node);
    port->set_device(nodes[0].rdma_devices(0).name());
    port->set_port(1);
  }
  result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  result.mutable_result()->set_path_mtu_bytes(4096);
  return limits.Of(result);
}

v1::ProbeExpectation LimitsOf(const std::vector<v1::NodeSnapshot>& nodes, double bps,
                              const v1::Expectations& expect = {}) {
  v1::PairResult result;
  result.mutable_probe()->mutable_rc_write_bandwidth();
  result.mutable_result()->mutable_bandwidth()->set_mean_bps(bps);
  return Limits(nodes, std::move(result), expect);
}

v1::ProbeExpectation LatencyLimitOf(const std::vector<v1::NodeSnapshot>& nodes, double us,
                                    const v1::Expectations& expect = {}) {
  v1::PairResult result;
  result.mutable_probe()->mutable_rc_write_latency();
  result.mutable_result()->mutable_latency()->set_median_us(us);
  return Limits(nodes, std::move(result), expect);
}

TEST(ProbeExpectations, OfLatencyGrowWithTheSwitchesBetweenThePorts) {
  auto nodes = testing::Nodes(2, testing::RoceNode);
  const v1::ProbeExpectation far = LatencyLimitOf(nodes, 8.9);
  EXPECT_EQ(far.latency_max_us(), 9) << "5 us, and 1 us for each of 4 further switches";
  EXPECT_FALSE(far.missed());
  EXPECT_EQ(far.basis(), "half a round trip over at most 5 switches (default)");
  EXPECT_TRUE(LatencyLimitOf(nodes, 9.1).missed());
  for (v1::NodeSnapshot& node : nodes) {
    v1::LldpNeighbor& leaf = *node.add_lldp_neighbors();
    leaf.set_netdev("rail0");
    leaf.set_system_name("leaf-1");
    leaf.set_port_id("swp1");
  }
  const v1::ProbeExpectation near = LatencyLimitOf(nodes, 5.1);
  EXPECT_EQ(near.latency_max_us(), 5);
  EXPECT_TRUE(near.missed());
  EXPECT_EQ(near.basis(), "half a round trip over 1 switch (default)");
  v1::Expectations expect;
  expect.set_latency_max_us(3);
  EXPECT_EQ(LatencyLimitOf(nodes, 2, expect).latency_max_us(), 3);
  expect.set_latency_per_hop_max_us(0.5);
  nodes[1].clear_lldp_neighbors();
  const v1::ProbeExpectation site = LatencyLimitOf(nodes, 2, expect);
  EXPECT_EQ(site.latency_max_us(), 5) << "3 us, and 0.5 us for each of 4 further switches";
  EXPECT_EQ(site.basis(), "half a round trip over at most 5 switches (profile site)");
}

TEST(ProbeExpectations, SlowLinksAndLargeMessagesHaveNoLimitOfLatency) {
  auto nodes = testing::Nodes(2, testing::RoceNode);
  testing::PortOf(nodes[1], 0).set_rate_bps(25'000'000'000);
  const v1::ProbeExpectation slow = LatencyLimitOf(nodes, 100);
  EXPECT_FALSE(slow.has_latency_max_us());
  EXPECT_EQ(slow.basis(), "no default latency below 100 Gb/s");
}

TEST(ProbeExpectations, AreAShareOfThePayloadRate) {
  const auto nodes = testing::Nodes(2, testing::RoceNode);
  const v1::ProbeExpectation slow = LimitsOf(nodes, 60e9);
  EXPECT_NEAR(slow.bandwidth_min_bps(), 88.2e9, 0.1e9) << "0.9 * 100 Gb/s * 4096 / 4178";
  EXPECT_TRUE(slow.missed());
  EXPECT_EQ(slow.basis(), "90 % of the payload rate of 100 Gb/s (default)");
  EXPECT_FALSE(LimitsOf(nodes, 97e9).missed());
}

TEST(ProbeExpectations, OfTheProfileWin) {
  v1::Expectations expect;
  expect.set_bandwidth_min_percent(50);
  const v1::ProbeExpectation limits = LimitsOf(testing::Nodes(2, testing::RoceNode), 60e9, expect);
  EXPECT_FALSE(limits.missed());
  EXPECT_EQ(limits.basis(), "50 % of the payload rate of 100 Gb/s (profile site)");
}

TEST(ProbeExpectations, SoftwareRdmaHasNoDefault) {
  const v1::ProbeExpectation limits = LimitsOf(testing::Nodes(2, testing::LabNode), 1e9);
  EXPECT_FALSE(limits.has_bandwidth_min_bps());
  EXPECT_FALSE(limits.missed());
  EXPECT_EQ(limits.basis(), "no default limit for software RDMA");
}

// Rails are 10.10.0.0/24 and 10.10.1.0/24, and nothing routes between them.
TEST(CrossRail, RailsWithoutARouteAccuseNoSwitch) {
  ControlWorld world;
  world.ConnectNodes(4);
  world.agents.SetPath([](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    if (probe.local().rail() != probe.remote().rail()) Lose(result);
  });
  v1::CampaignSpec spec;
  spec.set_pattern(v1::CAMPAIGN_PATTERN_CROSS_RAIL);
  const v1::Campaign campaign = RunCampaign(world, spec);
  EXPECT_EQ(campaign.blame().suspects_size(), 0) << campaign.blame().DebugString();
  EXPECT_EQ(campaign.blame().undecided_size(), 0) << campaign.blame().DebugString();
  std::vector<std::string> texts;
  for (const v1::CoverageGap& gap : campaign.skipped()) texts.push_back(gap.text());
  EXPECT_THAT(texts, Contains(HasSubstr("rails 0 and 1 are not connected")));
}

}  // namespace
}  // namespace fabric::control
