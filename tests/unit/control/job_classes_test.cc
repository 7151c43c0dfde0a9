// The class of traffic in which campaigns, certificates and the mesh send.
#include "daemon/control/probing/job_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/text.h"
#include "tests/testing/control_world.h"
#include "tests/testing/coverage.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kDscp26 = 106;  // 26 << 2 | ECT(0)

profile::Profile ProfileWith(const v1::Expectations& expect) {
  v1::Profile profile;
  profile.set_name("site");
  *profile.mutable_expect() = expect;
  return *profile::Profile::Make(profile, {});
}

std::vector<v1::TrafficClass> Resolved(std::vector<v1::NodeSnapshot> nodes,
                                       const v1::TrafficClassChoice& choice = {},
                                       const profile::Profile& profile = {}) {
  fleet::Fleet fleet;
  for (v1::NodeSnapshot& node : nodes) fleet.Put(std::move(node), {});
  return ClassesOf(VotesOf(fleet::FleetView(fleet, profile)), choice);
}

TEST(JobClasses, TheLosslessPriorityOfMostPortsIsTheClass) {
  const v1::TrafficClass found = Resolved(testing::Nodes(3, testing::RoceNode)).front();
  EXPECT_EQ(found.traffic_class(), kDscp26);
  EXPECT_EQ(found.dscp(), 26U);
  EXPECT_EQ(found.priority(), 3U);
  EXPECT_TRUE(found.lossless());
  EXPECT_EQ(found.name(), "lossless");
  EXPECT_EQ(found.source(), v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  EXPECT_EQ(found.basis(), "DSCP 26 to PFC priority 3: 6 of 6 ports");
}

TEST(JobClasses, TheGidIndexIsThatOfTheMajorityIfEachPortHasSuchAGid) {
  auto nodes = testing::Nodes(3, testing::RoceNode);
  const v1::TrafficClass found = Resolved(nodes).front();
  const v1::Port& port = nodes[0].rdma_devices(0).ports(0);
  ASSERT_TRUE(found.has_gid_index()) << port.DebugString();
  EXPECT_EQ(found.gid_index_source(), v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  const auto is_chosen = [&](const v1::Gid& gid) { return gid.index() == found.gid_index(); };
  const auto at = std::find_if(port.gids().begin(), port.gids().end(), is_chosen);
  ASSERT_NE(at, port.gids().end());
  EXPECT_EQ(at->type(), v1::GID_TYPE_ROCE_V2);
  EXPECT_NE(at->ipv4(), "");

  // The same GID of one port moves to another index.
  v1::Port& moved = *nodes[1].mutable_rdma_devices(0)->mutable_ports(0);
  for (v1::Gid& gid : *moved.mutable_gids()) gid.set_index(gid.index() + 8);
  const v1::TrafficClass each = Resolved(nodes).front();
  EXPECT_FALSE(each.has_gid_index());
  EXPECT_EQ(each.gid_index_source(), v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
}

TEST(JobClasses, OnePortWithoutPfcDoesNotChangeTheClass) {
  auto nodes = testing::Nodes(3, testing::RoceNode);
  testing::SetPfc(nodes[1], 0, 0);
  const v1::TrafficClass found = Resolved(nodes).front();
  EXPECT_EQ(found.traffic_class(), kDscp26);
  EXPECT_THAT(found.basis(), HasSubstr("5 of 6 ports"));
}

TEST(JobClasses, TheProfileWinsOverTheMajority) {
  v1::Expectations expect;
  expect.set_data_dscp(10);
  expect.set_job_gid_index(3);
  expect.set_job_pkey(5);
  const v1::TrafficClass found =
      Resolved(testing::Nodes(2, testing::RoceNode), {}, ProfileWith(expect)).front();
  EXPECT_EQ(found.dscp(), 10U);
  EXPECT_EQ(found.source(), v1::TRAFFIC_CLASS_SOURCE_PROFILE);
  EXPECT_EQ(found.gid_index(), 3U);
  EXPECT_EQ(found.pkey(), 5U);
}

TEST(JobClasses, TheRequestWinsOverTheProfile) {
  v1::Expectations expect;
  expect.set_data_dscp(10);
  v1::TrafficClassChoice choice;
  choice.set_traffic_class(0);
  choice.set_gid_index(1);
  const v1::TrafficClass found =
      Resolved(testing::Nodes(2, testing::RoceNode), choice, ProfileWith(expect)).front();
  EXPECT_EQ(found.traffic_class(), 0U);
  EXPECT_EQ(found.name(), "default");
  EXPECT_EQ(found.source(), v1::TRAFFIC_CLASS_SOURCE_REQUEST);
  EXPECT_EQ(found.gid_index(), 1U);
}

TEST(JobClasses, WithoutALosslessPriorityItIsDscp0AndSaysSo) {
  auto nodes = testing::Nodes(2, testing::RoceNode);
  for (v1::NodeSnapshot& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) testing::SetPfc(node, rail, 0);
  const v1::TrafficClass found = Resolved(nodes).front();
  EXPECT_EQ(found.traffic_class(), 0U);
  EXPECT_EQ(found.source(), v1::TRAFFIC_CLASS_SOURCE_DEFAULT);
  EXPECT_THAT(found.basis(), HasSubstr("no port reports a lossless priority"));
}

TEST(JobClasses, ValuesThatDoNotFitThePacketAreRefused) {
  v1::TrafficClassChoice choice;
  choice.set_traffic_class(256);
  EXPECT_EQ(Check(choice).message(), "traffic_class: expected 0 to 255, saw 256");
  choice.set_traffic_class(255);
  choice.set_pkey(0x8001);
  EXPECT_EQ(Check(choice).message(), "pkey: expected 0 to 32767, saw 32769");
}

TEST(JobClasses, CampaignsSendInTheClassAndSaySo) {
  ControlWorld world;
  world.ConnectNodes(3);
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  ASSERT_EQ(campaign.classes_size(), 1);
  EXPECT_EQ(campaign.classes(0).name(), "lossless");
  for (const v1::PairResult& pair : campaign.results()) {
    EXPECT_EQ(pair.probe().traffic_class(), kDscp26);
    EXPECT_EQ(pair.probe().resolved_class().source(), v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  }
}

// Each packet of the lossless class to or from the port is lost; DSCP 0 passes.
void BreakLossless(ControlWorld& world, const std::string& node) {
  world.agents.SetPath([node](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    const bool here = probe.local().rail() == 0 &&
                      (probe.local().node() == node || probe.remote().node() == node);
    if (!here || probe.spec().traffic_class() == 0) return;
    result = {};
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("transport retry counter exceeded");
  });
}

TEST(JobClasses, AFaultOfOneClassIsNamedWithTheClass) {
  ControlWorld world;
  world.ConnectNodes(6);
  BreakLossless(world, "n2");
  v1::CampaignSpec spec;
  spec.mutable_class_choice()->set_compare_default(true);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec));
  ASSERT_EQ(campaign.classes_size(), 2);
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().DebugString();
  const v1::Suspect& suspect = campaign.blame().suspects(0);
  EXPECT_EQ(suspect.name(), "n2/mlx5_0/1");
  EXPECT_EQ(suspect.traffic_class(), kDscp26);
  EXPECT_EQ(suspect.traffic_class_name(), "lossless (DSCP 26, priority 3)");
  EXPECT_THAT(suspect.evidence(),
              ::testing::Contains("no fault in class default (DSCP 0, priority 0)"));
}

constexpr std::uint32_t kDscp24 = 98;  // 24 << 2 | ECT(0)

// n1 to n4 send RDMA in DSCP 26 and priority 3, n5 to n7 in DSCP 24 and priority 4.
void ConnectPools(ControlWorld& world) {
  world.ConnectNodes(7);
  for (const std::uint32_t number : {5U, 6U, 7U}) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number});
    for (const std::uint32_t rail : {0U, 1U}) {
      testing::SetPfc(node, rail, 0b10000);
      testing::MapDscp(node, rail, 24, 4);
    }
    ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  }
  world.agents.Advance(std::chrono::seconds(1));
}

TEST(JobClasses, ThePortsThatAreProbedHaveTheVote) {
  ControlWorld world;
  ConnectPools(world);
  const v1::Campaign all = world.Finish(world.StartCampaign());
  EXPECT_EQ(all.classes(0).traffic_class(), kDscp26);
  EXPECT_EQ(all.classes(0).basis(),
            "DSCP 26 to PFC priority 3: 8 of 14 ports; others: DSCP 24 of 6 ports");
  v1::CampaignSpec spec;
  for (const char* node : {"n5", "n6", "n7"}) spec.add_nodes(node);
  const v1::Campaign pool = world.Finish(world.StartCampaign(spec));
  EXPECT_EQ(pool.classes(0).traffic_class(), kDscp24);
  EXPECT_EQ(pool.classes(0).priority(), 4U);
  EXPECT_EQ(pool.classes(0).basis(), "DSCP 24 to PFC priority 4: 6 of 6 ports");
  for (const v1::PairResult& pair : pool.results())
    EXPECT_EQ(pair.probe().traffic_class(), kDscp24);
}

TEST(JobClasses, TheFleetDecidesWhatTheProbedPortsLeaveOpen) {
  ControlWorld world;
  ConnectPools(world);
  v1::CampaignSpec spec;
  for (const char* node : {"n1", "n5"}) spec.add_nodes(node);
  EXPECT_EQ(world.Finish(world.StartCampaign(spec)).classes(0).traffic_class(), kDscp26) << "tie";

  for (const std::uint32_t number : {6U, 7U}) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number});
    for (const std::uint32_t rail : {0U, 1U}) testing::SetPfc(node, rail, 0);
    ASSERT_TRUE(world.agents.SendSnapshot(node).ok());
  }
  world.agents.Advance(std::chrono::seconds(1));
  spec.clear_nodes();
  for (const char* node : {"n6", "n7"}) spec.add_nodes(node);
  const v1::TrafficClass found = world.Finish(world.StartCampaign(spec)).classes(0);
  EXPECT_EQ(found.traffic_class(), kDscp26);
  EXPECT_FALSE(found.lossless()) << "on these ports";
  EXPECT_THAT(found.basis(), HasSubstr("8 of 14 ports of the fleet"));
}

void SetPkeys(v1::NodeSnapshot& node, std::uint32_t rail, const std::vector<std::uint32_t>& pkeys) {
  testing::PortOf(node, rail).mutable_pkeys()->Assign(pkeys.begin(), pkeys.end());
}

std::vector<v1::NodeSnapshot> InfinibandNodes(const std::vector<std::uint32_t>& pkeys) {
  auto nodes = testing::Nodes(4, testing::InfinibandNode);
  for (v1::NodeSnapshot& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) SetPkeys(node, rail, pkeys);
  return nodes;
}

TEST(JobClasses, ThePkeyIsTheOneThatMostPortsHaveWithFullMembership) {
  auto nodes = InfinibandNodes({0xffff});
  EXPECT_EQ(Resolved(nodes).front().pkey(), 0x7fffU);
  EXPECT_EQ(Resolved(nodes).front().pkey_source(), v1::TRAFFIC_CLASS_SOURCE_MAJORITY);
  SetPkeys(nodes[1], 0, {0x8005});
  EXPECT_EQ(Resolved(nodes).front().pkey(), 0x7fffU) << "7 of 8 ports";
  EXPECT_EQ(Resolved(InfinibandNodes({0x7fff, 0x8005})).front().pkey(), 5U)
      << "limited members do not reach each other";
  v1::TrafficClassChoice choice;
  choice.set_pkey(9);
  EXPECT_EQ(Resolved(nodes, choice).front().pkey(), 9U);
  EXPECT_FALSE(Resolved(InfinibandNodes({})).front().has_pkey()) << "not known";
  EXPECT_FALSE(Resolved(testing::Nodes(2, testing::RoceNode)).front().has_pkey());
}

TEST(JobClasses, APortWithoutThePkeyIsNotCoveredAndNoFault) {
  ControlWorld world;
  auto nodes = InfinibandNodes({0xffff, 0x8005});
  SetPkeys(nodes[2], 1, {0x8005});
  for (const v1::NodeSnapshot& node : nodes) ASSERT_TRUE(world.agents.Connect(node).ok());
  world.agents.Advance(std::chrono::seconds(2));
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  EXPECT_EQ(campaign.classes(0).pkey(), 0x7fffU);
  EXPECT_THAT(testing::Texts(campaign.skipped()),
              ElementsAre("n3/mlx5_1/1: port has no P_Key 0x7fff, which the probes use"));
  EXPECT_EQ(campaign.probes_failed(), 0U);
  EXPECT_EQ(campaign.blame().suspects_size(), 0) << campaign.blame().DebugString();
  for (const v1::PairResult& pair : campaign.results())
    EXPECT_EQ(pair.probe().queue_pair().pkey(), 0x7fffU);
}

}  // namespace
}  // namespace fabric::control
