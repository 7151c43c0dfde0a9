// Campaigns that say who is to blame, and end when that is decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/text.h"
#include "tests/testing/control_world.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;

bool IsAt(const v1::ProbePort& port, const std::string& node, std::uint32_t rail) {
  return port.node() == node && port.rail() == rail;
}

// Every n-th write over the port ends with an error; the others are well.
void MakeLossy(ControlWorld& world, const std::string& node, std::uint32_t rail, int every) {
  world.agents.SetPath(
      [=, count = 0](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) mutable {
        if (!IsAt(assignment.local(), node, rail) && !IsAt(assignment.remote(), node, rail)) return;
        if (++count % every != 0) return;
        result.Clear();
        result.set_status(v1::PROBE_STATUS_FAILED);
        result.set_reason("transport retry counter exceeded");
      });
}

// Half of the bandwidth of the others.
void MakeSlow(ControlWorld& world, const std::string& node, std::uint32_t rail) {
  world.agents.SetPath([=](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    if (!IsAt(assignment.local(), node, rail) && !IsAt(assignment.remote(), node, rail)) return;
    if (result.has_bandwidth()) result.mutable_bandwidth()->set_mean_bps(48e9);
  });
}

v1::CampaignSpec UntilDecided() {
  v1::CampaignSpec spec;
  spec.set_until_decided(true);
  return spec;
}

TEST(UntilDecided, AHealthyFabricTakesAFewRounds) {
  ControlWorld world;
  world.ConnectNodes(32);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(UntilDecided()));
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(campaign.blame().state(), v1::BLAME_STATE_HEALTHY);
  EXPECT_TRUE(campaign.blame().suspects().empty());
  EXPECT_LT(campaign.rounds_done(), 20u);
  EXPECT_EQ(campaign.rounds_done() + campaign.rounds_saved(), campaign.rounds());
  EXPECT_GT(campaign.rounds_saved(), 0u);
  EXPECT_EQ(campaign.probes_ok(), static_cast<std::uint32_t>(campaign.results_size()));
}

TEST(UntilDecided, ASlowPortIsNamedAndTheRestIsSaved) {
  ControlWorld world;
  world.ConnectNodes(32);
  MakeSlow(world, "n7", 1);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(UntilDecided()));
  ASSERT_EQ(campaign.blame().state(), v1::BLAME_STATE_DECIDED)
      << campaign.blame().ShortDebugString();
  ASSERT_EQ(campaign.blame().suspects_size(), 1);
  const v1::Suspect& suspect = campaign.blame().suspects(0);
  EXPECT_EQ(suspect.node(), "n7");
  EXPECT_EQ(suspect.device(), "mlx5_1");
  EXPECT_EQ(suspect.fault(), v1::FAULT_KIND_LOW_BANDWIDTH);
  EXPECT_GT(suspect.confidence(), 0.9);
  EXPECT_LT(campaign.rounds_done(), 20u);
  EXPECT_GT(campaign.rounds_saved(), 0u);
}

// Its host stands still for a second, in which many rounds pass.
TEST(UntilDecided, AHostThatPausesIsNotNamed) {
  ControlWorld world;
  world.ConnectNodes(32);
  const Moment begun = world.agents.now();
  world.agents.SetPath([&](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    if (!IsAt(assignment.local(), "n7", 1) && !IsAt(assignment.remote(), "n7", 1)) return;
    const bool paused = world.agents.now().steady - begun.steady < 1s;
    if (paused && result.has_bandwidth()) result.mutable_bandwidth()->set_mean_bps(48e9);
  });
  const v1::Campaign campaign = world.Finish(world.StartCampaign(UntilDecided()));
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_TRUE(campaign.blame().suspects().empty()) << campaign.blame().ShortDebugString();
  EXPECT_LT(campaign.rounds_done(), 31U) << "nor was all of the plan needed for that";
}

TEST(UntilDecided, CancelEndsTheWaitForAPause) {
  ControlWorld world;
  world.ConnectNodes(32);
  MakeSlow(world, "n7", 1);
  const std::string id = world.StartCampaign(UntilDecided());
  world.agents.Advance(500ms);
  const v1::Campaign waiting = world.Campaign(id);
  world.agents.Advance(500ms);
  ASSERT_EQ(world.Campaign(id).results_size(), waiting.results_size()) << "it waits";
  ASSERT_EQ(world.Campaign(id).state(), v1::CAMPAIGN_STATE_RUNNING);
  const v1::Campaign cancelled = world.Cancel(id);
  EXPECT_EQ(cancelled.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_TRUE(cancelled.has_ended_at());
}

TEST(UntilDecided, ALossyPortIsNamed) {
  ControlWorld world;
  world.ConnectNodes(32);
  MakeLossy(world, "n20", 0, 2);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(UntilDecided()));
  ASSERT_EQ(campaign.blame().state(), v1::BLAME_STATE_DECIDED)
      << campaign.blame().ShortDebugString();
  EXPECT_EQ(campaign.blame().suspects(0).node(), "n20");
  EXPECT_LE(campaign.rounds_done(), 20u);
}

TEST(UntilDecided, ADeadPortThatWasLeftOutIsNamed) {
  ControlWorld world;
  world.ConnectNodes(32);
  MakeLossy(world, "n3", 1, 1);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(UntilDecided()));
  ASSERT_EQ(campaign.blame().state(), v1::BLAME_STATE_DECIDED)
      << campaign.blame().ShortDebugString();
  ASSERT_EQ(campaign.blame().suspects_size(), 1);
  EXPECT_EQ(campaign.blame().suspects(0).node(), "n3");
  EXPECT_EQ(campaign.blame().suspects(0).fault(), v1::FAULT_KIND_TOTAL_LOSS);
}

// It is well in the quick pass and late from then on: each probe of it takes its whole time.
TEST(UntilDecided, OfANodeThatIsAlwaysLateNoMoreIsWanted) {
  ControlWorld world;
  world.ConnectNodes(32);
  int probes = 0;
  world.agents.SetPath([&](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    const bool concerned = IsAt(assignment.local(), "n5", 0) || IsAt(assignment.remote(), "n5", 0);
    if (!concerned || assignment.role() != v1::PROBE_ROLE_INITIATOR || ++probes <= 2) return;
    result.Clear();
    result.set_status(v1::PROBE_STATUS_TIMED_OUT);
    result.set_reason("its host was late");
    result.set_blamed_node("n5");
  });
  v1::CampaignSpec spec = UntilDecided();
  spec.add_rails(0);
  spec.set_pattern(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  spec.set_degree(3);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec));
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_GT(probes, 4);
  EXPECT_LE(probes, 8);
  // The host is named, not its port.
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().ShortDebugString();
  EXPECT_EQ(campaign.blame().suspects(0).kind(), v1::SUSPECT_KIND_HOST);
  EXPECT_EQ(campaign.blame().suspects(0).fault(), v1::FAULT_KIND_HOST_STALLED);
}

TEST(UntilDecided, OneBadPortAmong256IsNamedWithinTwentyRounds) {
  ControlWorld world({.pairs_at_once_max = 512});
  world.ConnectNodes(256);
  MakeLossy(world, "n77", 0, 2);
  v1::CampaignSpec spec = UntilDecided();
  spec.add_rails(0);
  spec.add_probes()->mutable_rc_write_latency();
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec));
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().ShortDebugString();
  EXPECT_EQ(campaign.blame().suspects(0).node(), "n77");
  EXPECT_LE(campaign.rounds_done(), 20u);
}

TEST(Blame, IsToldOfEveryCampaignAndKept) {
  ControlWorld world;
  world.ConnectNodes(16);
  MakeSlow(world, "n7", 1);
  const std::string id = world.StartCampaign();
  const v1::Campaign campaign = world.Finish(id);
  EXPECT_EQ(campaign.rounds_saved(), 0u);
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().ShortDebugString();
  EXPECT_EQ(campaign.blame().suspects(0).node(), "n7");
  world.Restart();
  EXPECT_EQ(world.Campaign(id).blame().ShortDebugString(), campaign.blame().ShortDebugString());
}

TEST(UntilDecided, ARestartEndsItWithWhatWasKnown) {
  ControlWorld world;
  world.ConnectNodes(16);
  // Latencies come in, and the bandwidth of one pair never does.
  world.agents.SetPath([](const v1::ProbeAssignment& assignment, v1::ProbeResult& result) {
    if (assignment.spec().has_rc_write_bandwidth() && assignment.local().node() == "n4")
      result.Clear();
  });
  const std::string id = world.StartCampaign(UntilDecided());
  world.agents.Advance(1s);
  world.Restart();
  const v1::Campaign campaign = world.Campaign(id);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_TRUE(campaign.has_ended_at());
  EXPECT_FALSE(campaign.has_remaining_seconds());
  EXPECT_GT(campaign.results_size(), 0);
}

}  // namespace
}  // namespace fabric::control
