// The class of traffic in which campaigns, certificates and the mesh send.
#include "daemon/control/probing/job_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
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

}  // namespace
}  // namespace fabric::control
