// Campaigns of a real fabric (the lab: 9 nodes, n1 to n3 under leaf1 and so on, four spines, soft
// RoCE in emulated guests that are slow and late by turns), with the fault that was planted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "daemon/blame/blame.h"
#include "proto/json.h"
#include "tests/testing/paths.h"

namespace fabric::blame {
namespace {

constexpr std::uint32_t kNodes = 9;
constexpr std::uint32_t kNodesPerLeaf = 3;

Fabric LabFabric() {
  Fabric fabric;
  for (std::uint32_t node = 1; node <= kNodes; ++node)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      fabric.endpoints.push_back(
          {.node = Format("n{}", node),
           .device = Format("rxe{}", rail),
           .port = 1,
           .rail = rail,
           .leaf = Format("rail{}-leaf{}", rail, (node - 1) / kNodesPerLeaf + 1),
           .leaf_port = Format("swp{}", node)});
  return fabric;
}

// `slowed`: the time between two results is this many times as long.
v1::BlameReport JudgeFile(const std::string& name, int slowed = 1) {
  const std::filesystem::path path = std::filesystem::path(fabric::testing::kSourceDir) /
                                     "tests/fixtures/campaigns" / (name + ".json");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  v1::Campaign campaign;
  const Status status = FromJson(text.str(), campaign);
  EXPECT_TRUE(status.ok()) << path << ": " << status.message();
  EXPECT_GE(campaign.results_size(), 10) << path;
  // What was left out was not tried: a campaign does not give it to blame either.
  google::protobuf::RepeatedPtrField<v1::PairResult> tried;
  for (const v1::PairResult& result : campaign.results())
    if (result.result().reason().find(": left out: ") == std::string::npos) *tried.Add() = result;
  const std::int64_t began = campaign.results(0).started_at().seconds();
  for (v1::PairResult& result : tried) {
    google::protobuf::Timestamp& started = *result.mutable_started_at();
    started.set_seconds(began + slowed * (started.seconds() - began));
  }
  const Fabric fabric = LabFabric();
  return Judge(fabric, ObservationsOf(fabric, tried));
}

class OnePathOfFour : public ::testing::TestWithParam<const char*> {};

// A link between leaf1 and a spine drops all, or 30 %: other parts must not be named, and it must
// not be called healthy. In path_alone fifteen rounds were of one pair, which had the machine for
// itself: all others were late next to it. In path_told nearly as much is said by what was lost on
// the way out alone.
TEST_P(OnePathOfFour, IsTheUplinkOfItsLeaf) {
  const v1::BlameReport report = JudgeFile(GetParam());
  EXPECT_NE(report.state(), v1::BLAME_STATE_HEALTHY);
  ASSERT_EQ(report.suspects_size(), 1) << report.DebugString();
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_UPLINK) << report.DebugString();
  EXPECT_EQ(report.suspects(0).leaf(), "rail0-leaf1");
  EXPECT_GT(report.suspects(0).affected(), 0.25) << "flows that have one path of four twice";
}

INSTANTIATE_TEST_SUITE_P(Captured, OnePathOfFour,
                         ::testing::Values("path", "path2", "path_alone", "path_told", "pathloss"));

TEST(CapturedCampaign, OfAHealthyFabricAccusesNobody) {
  for (const char* name : {"healthy", "bw_healthy"}) {
    const v1::BlameReport report = JudgeFile(name);
    EXPECT_EQ(report.suspects_size(), 0) << name << report.DebugString();
  }
}

// What n8's card sends is lost, three of ten; what it receives is not. The campaign took three
// seconds, in which all guests could have been slow.
TEST(CapturedCampaign, OfLossOneWayTellsWhichWay) {
  const v1::BlameReport early = JudgeFile("one_way");
  EXPECT_EQ(early.suspects_size(), 0) << early.DebugString();
  ASSERT_EQ(early.undecided_size(), 1) << early.DebugString();
  EXPECT_EQ(early.undecided(0).suspects(0).name(), "n8/rxe0/1");
  const v1::BlameReport report = JudgeFile("one_way", 5);
  ASSERT_EQ(report.suspects_size(), 1) << report.DebugString();
  EXPECT_EQ(report.suspects(0).name(), "n8/rxe0/1");
  EXPECT_EQ(report.suspects(0).direction(), v1::DIRECTION_OUT) << report.DebugString();
}

class SlowPort : public ::testing::TestWithParam<const char*> {};

TEST_P(SlowPort, IsNamedAndNobodyElse) {
  const v1::BlameReport report = JudgeFile(GetParam());
  ASSERT_EQ(report.suspects_size(), 1) << report.DebugString();
  EXPECT_EQ(report.suspects(0).name(), "n4/rxe0/1");
}

INSTANTIATE_TEST_SUITE_P(Captured, SlowPort,
                         ::testing::Values("slow20", "slow5", "slow3", "slow3_full"));

}  // namespace
}  // namespace fabric::blame
