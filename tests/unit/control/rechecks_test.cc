// Checks after a repair: which campaign is planned, when it starts, and what limits it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/control/schedules/rechecks.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPort = "probe_blame n2/mlx5_0/1";

v1::Finding Located(const std::string& id, v1::SuspectKind kind, v1::FaultKind fault,
                    const std::vector<std::string>& nodes) {
  v1::Finding finding;
  finding.set_id(id);
  finding.mutable_suspect()->set_kind(kind);
  finding.mutable_suspect()->set_fault(fault);
  finding.mutable_suspect()->set_traffic_class(106);
  for (const std::string& node : nodes) {
    v1::Subject& port = *finding.add_affected();
    port.set_scope(v1::SCOPE_PORT);
    port.set_node(node);
    port.set_device("mlx5_0");
    port.set_port(1);
    port.set_rail(3);
  }
  return finding;
}

RecheckFleet FleetOf(int count) {
  RecheckFleet fleet;
  for (int n = 1; n <= count; ++n) fleet.connected.push_back(Format("n{:03}", n));
  return fleet;
}

TEST(PlanRecheck, ProbesThePortWithFourOthersOnItsRailAndInItsClass) {
  RecheckFleet fleet = FleetOf(100);
  fleet.suspected = {"n007", "n001"};
  const RecheckPlan plan = PlanRecheck(
      std::vector{Located("a", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_TOTAL_LOSS, {"n007"})}, fleet);
  EXPECT_THAT(plan.findings, ElementsAre("a"));
  EXPECT_EQ(plan.spec.nodes_size(), 5);
  EXPECT_THAT(plan.spec.nodes(), Contains("n007"));
  EXPECT_THAT(plan.spec.nodes(), Not(Contains("n001")));
  EXPECT_THAT(plan.spec.rails(), ElementsAre(3));
  EXPECT_EQ(plan.spec.pattern(), v1::CAMPAIGN_PATTERN_ALL_PAIRS);
  EXPECT_EQ(plan.spec.probes_size(), 1);
  EXPECT_EQ(plan.spec.class_choice().traffic_class(), 106U);
}

TEST(PlanRecheck, SuspectedNodesArePartnersIfThereAreTooFewOthers) {
  RecheckFleet fleet = FleetOf(9);
  fleet.suspected = {fleet.connected.begin(), fleet.connected.end()};
  const std::vector findings = {
      Located("a", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_TOTAL_LOSS, {"n007"})};
  EXPECT_EQ(PlanRecheck(findings, fleet).spec.nodes_size(), 5);
  fleet.suspected.erase("n009");
  const RecheckPlan plan = PlanRecheck(findings, fleet);
  EXPECT_EQ(plan.spec.nodes_size(), 5);
  EXPECT_THAT(plan.spec.nodes(), Contains("n009"));
}

TEST(PlanRecheck, SendsEnoughPacketsToShowTheLoss) {
  v1::Finding lossy = Located("a", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_PACKET_LOSS, {"n007"});
  lossy.mutable_suspect()->set_severity(0.002);
  lossy.mutable_suspect()->set_affected(1);
  const RecheckPlan plan = PlanRecheck(std::vector{lossy}, FleetOf(100));
  ASSERT_EQ(plan.spec.probes_size(), 2);
  EXPECT_EQ(plan.spec.probes(1).ud_ping().pings(), 1000U) << "8 / 0.002 over 4 partners";
}

TEST(PlanRecheck, SharedPathsGetAsManyPartnersAndOtherClassesWait) {
  v1::Finding other = Located("c", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_TOTAL_LOSS, {"n050"});
  other.mutable_suspect()->clear_traffic_class();
  std::vector<std::string> under;
  for (int n = 1; n <= 16; ++n) under.push_back(Format("n{:03}", n));
  const RecheckPlan plan = PlanRecheck(
      std::vector{Located("a", v1::SUSPECT_KIND_UPLINK, v1::FAULT_KIND_LOW_BANDWIDTH, under), other,
                  Located("b", v1::SUSPECT_KIND_HOST, v1::FAULT_KIND_HIGH_LATENCY, {"n040"})},
      FleetOf(100));
  EXPECT_THAT(plan.findings, ElementsAre("a", "b"));
  EXPECT_EQ(plan.spec.nodes_size(), 34);
  EXPECT_EQ(plan.spec.pattern(), v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  EXPECT_EQ(plan.spec.probes_size(), 2) << "latency and bandwidth";
}

TEST(PlanRecheck, BandwidthProbesDoNotRunWithPings) {
  v1::Finding lossy = Located("a", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_PACKET_LOSS, {"n007"});
  lossy.mutable_suspect()->set_severity(0.1);
  const v1::Finding slow =
      Located("b", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_LOW_BANDWIDTH, {"n008"});
  const v1::Finding dead = Located("c", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_TOTAL_LOSS, {"n009"});
  const RecheckPlan losses = PlanRecheck(std::vector{lossy, slow, dead}, FleetOf(100));
  EXPECT_THAT(losses.findings, ElementsAre("a", "c"));
  ASSERT_EQ(losses.spec.probes_size(), 2);
  EXPECT_TRUE(losses.spec.probes(1).has_ud_ping());
  const RecheckPlan speed = PlanRecheck(std::vector{slow, dead, lossy}, FleetOf(100));
  EXPECT_THAT(speed.findings, ElementsAre("b", "c"));
  ASSERT_EQ(speed.spec.probes_size(), 2);
  EXPECT_TRUE(speed.spec.probes(1).has_rc_write_bandwidth());
}

TEST(PlanRecheck, LoadsThePortsAsTheProbeThatShowedTheFault) {
  const std::vector slow = {
      Located("a", v1::SUSPECT_KIND_PORT, v1::FAULT_KIND_LOW_BANDWIDTH, {"n008"})};
  RecheckFleet fleet = FleetOf(100);
  EXPECT_EQ(PlanRecheck(slow, fleet).spec.probes(1).rc_write_bandwidth().message_bytes(), 65536U);
  v1::ProbeSpec before;
  before.set_timeout_ms(40'000);
  before.mutable_rc_read_bandwidth()->set_message_bytes(4096);
  before.mutable_rc_read_bandwidth()->set_iterations(1'000'000);
  fleet.bandwidth_probe = [&](const std::string& finding) {
    return finding == "a" ? std::optional(before) : std::nullopt;
  };
  const v1::CampaignSpec again = PlanRecheck(slow, fleet).spec;
  EXPECT_EQ(again.probes(1).rc_read_bandwidth().message_bytes(), 4096U);
  EXPECT_EQ(again.probes(1).timeout_ms(), 40'000U);
  EXPECT_EQ(again.probes(1).rc_read_bandwidth().iterations(), 200U) << "a recheck is short";
}

TEST(PlanRecheck, AFaultOfManyPortsTakesTheWholeFleet) {
  std::vector<std::string> all;
  for (int n = 1; n <= 90; ++n) all.push_back(Format("n{:03}", n));
  const RecheckPlan plan = PlanRecheck(
      std::vector{Located("a", v1::SUSPECT_KIND_RAIL, v1::FAULT_KIND_LOW_BANDWIDTH, all)},
      FleetOf(100));
  EXPECT_EQ(plan.spec.nodes_size(), 0);
  EXPECT_EQ(plan.spec.degree(), 4U);
}

class RechecksTest : public ::testing::Test {
 protected:
  RechecksTest() { world_.ConnectNodes(6); }

  // Rail 0 of n2 loses everything while `broken_`.
  void Break() {
    broken_ = true;
    world_.agents.SetPath([this](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
      const bool here = probe.local().rail() == 0 &&
                        (probe.local().node() == "n2" || probe.remote().node() == "n2");
      if (!here || !broken_) return;
      result = {};
      result.set_status(v1::PROBE_STATUS_FAILED);
      result.set_reason("transport retry counter exceeded");
    });
    located_ = world_.Finish(world_.StartCampaign());
    world_.agents.Advance(1s);
    ASSERT_THAT(world_.OpenFindings(), Contains(kPort));
  }
  std::size_t Campaigns() {
    v1::ListCampaignsResponse response;
    EXPECT_TRUE(
        world_.controller->Call(v1::ListCampaignsRequest(), response, world_.agents.now()).ok());
    for (const v1::Campaign& campaign : response.campaigns())
      if (campaign.rechecks_size() > 0) rechecked_ = campaign;
    return static_cast<std::size_t>(response.campaigns_size());
  }
  Status Recheck(const std::vector<std::string>& findings = {}) {
    v1::RecheckFindingsRequest request;
    request.mutable_findings()->Assign(findings.begin(), findings.end());
    v1::Campaign campaign;
    const Status status = world_.controller->Call(request, campaign, world_.agents.now());
    if (status.ok()) rechecked_ = world_.Finish(campaign.id());
    world_.agents.Advance(1s);
    return status;
  }
  void BreakMtu(bool broken) {
    v1::NodeSnapshot snapshot = testing::RoceNode({.number = 2});
    if (broken) testing::SetMtu(snapshot, 0, 1500);
    ASSERT_TRUE(world_.agents.SendSnapshot(snapshot).ok());
    world_.agents.Advance(2s);
  }

  ControlWorld world_;
  bool broken_ = false;
  v1::Campaign located_;
  v1::Campaign rechecked_;
};

TEST_F(RechecksTest, OnRequestResolveAFaultThatIsGone) {
  Break();
  ASSERT_TRUE(Recheck().ok());
  EXPECT_THAT(world_.OpenFindings(), Contains(kPort)) << "still broken";
  EXPECT_THAT(rechecked_.rechecks(), ElementsAre(located_.findings(0)));
  broken_ = false;
  ASSERT_TRUE(Recheck({located_.findings(0)}).ok());
  EXPECT_THAT(world_.OpenFindings(), Not(Contains(kPort)));
  EXPECT_LT(rechecked_.probes_planned(), located_.probes_planned());
}

TEST_F(RechecksTest, RepeatTheBandwidthProbeOfTheCampaign) {
  world_.agents.SetPath([](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    const bool here = probe.local().rail() == 0 &&
                      (probe.local().node() == "n2" || probe.remote().node() == "n2");
    if (here && result.has_bandwidth()) result.mutable_bandwidth()->set_mean_bps(1e9);
  });
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_rc_write_bandwidth()->set_queue_depth(4);
  located_ = world_.Finish(world_.StartCampaign(spec));
  world_.agents.Advance(1s);
  ASSERT_THAT(world_.OpenFindings(), Contains(kPort));
  ASSERT_TRUE(Recheck().ok());
  ASSERT_EQ(rechecked_.spec().probes_size(), 2);
  EXPECT_EQ(rechecked_.spec().probes(1).rc_write_bandwidth().queue_depth(), 4U);
  EXPECT_EQ(rechecked_.spec().probes(1).resolved_class().traffic_class(),
            located_.spec().probes(0).resolved_class().traffic_class());
}

TEST_F(RechecksTest, RefuseWhatIsNotLocated) {
  EXPECT_THAT(Recheck().message(), HasSubstr("have located no fault that is still open"));
  EXPECT_EQ(Recheck({"f-nothing"}).code(), Code::kNotFound);
  BreakMtu(true);
  v1::ListFindingsResponse response;
  ASSERT_TRUE(
      world_.controller->Call(v1::ListFindingsRequest(), response, world_.agents.now()).ok());
  ASSERT_GT(response.findings_size(), 0);
  const Status status = Recheck({response.findings(0).id()});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("expected an open finding of rule probe_blame"));
}

TEST_F(RechecksTest, FollowTheRepairOfASettingOfTheSamePort) {
  Break();
  BreakMtu(true);
  world_.agents.Advance(10s);
  EXPECT_EQ(Campaigns(), 1u) << "nothing is repaired yet";
  broken_ = false;
  BreakMtu(false);
  world_.agents.Advance(90s);
  EXPECT_EQ(Campaigns(), 2u);
  EXPECT_THAT(rechecked_.rechecks(), ElementsAre(located_.findings(0)));
  EXPECT_THAT(world_.OpenFindings(), Not(Contains(kPort)));
}

TEST_F(RechecksTest, StopAfterThreeRepairsThatDidNotHelp) {
  Break();
  for (int times = 0; times < 5; ++times) {
    BreakMtu(true);
    world_.agents.Advance(10s);
    BreakMtu(false);
    world_.agents.Advance(3min);  // Longer than a flapping finding is held.
  }
  EXPECT_EQ(Campaigns(), 1u + Rechecks::kRunsOfFinding);
  EXPECT_THAT(world_.OpenFindings(), Contains(kPort));
}

}  // namespace
}  // namespace fabric::control
