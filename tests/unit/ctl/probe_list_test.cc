// The command probe list, and campaigns that wait for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// c3 waits for c2, newest first. It is 01:20:00.
FakeController ThreeCampaigns() {
  FakeController controller;
  controller.Answer<v1::ListCampaignsResponse>() =
      FromText<v1::ListCampaignsResponse>(R"({"campaigns": [
      {"id": "c3", "state": "CAMPAIGN_STATE_RUNNING", "probes_planned": 8,
       "spec": {"pattern": "CAMPAIGN_PATTERN_RANDOM_REGULAR", "nodes": ["n1", "n2"]},
       "started_at": "2026-11-21T01:19:58Z"},
      {"id": "c2", "state": "CAMPAIGN_STATE_RUNNING", "probes_planned": 96, "probes_ok": 40,
       "probes_lossy": 3, "started_at": "2026-11-21T01:00:00Z"},
      {"id": "c1", "state": "CAMPAIGN_STATE_DONE", "probes_planned": 8, "probes_ok": 8,
       "started_at": "2026-11-21T00:00:00Z", "ended_at": "2026-11-21T00:10:00Z"}]})");
  return controller;
}

TEST(ProbeList, ShowsPatternNodesAndLossyProbes) {
  FakeController controller = ThreeCampaigns();
  const std::string csv = RunWords("probe list -o csv", controller).out;
  EXPECT_THAT(csv, HasSubstr("c3,running,2s,,random-regular,2,"));
  EXPECT_THAT(csv, HasSubstr("c2,running,20m,,all-pairs,all,"));
  EXPECT_THAT(csv, HasSubstr(",96,37,3,0,0,")) << "a lossy probe is not ok";
}

TEST(ProbeList, SaysForWhatACampaignCanWait) {
  FakeController controller = ThreeCampaigns();
  const std::string text = RunWords("probe list", controller).out;
  EXPECT_THAT(text, HasSubstr("\nc3 no result yet; c2 also runs and can hold the ports.\n"));
  EXPECT_THAT(text, Not(HasSubstr("c2 no result yet"))) << "it has results";
  controller.Answer<v1::ListCampaignsResponse>().mutable_campaigns(1)->set_state(
      v1::CAMPAIGN_STATE_DONE);
  EXPECT_THAT(RunWords("probe list", controller).out, Not(HasSubstr("no result yet")));
}

TEST(ProbeList, IsLimitedByTimeAndNumber) {
  FakeController controller = ThreeCampaigns();
  EXPECT_EQ(RunWords("probe list --limit 1 -o name", controller).out, "c3\n");
  EXPECT_THAT(RunWords("probe list --limit 1", controller).out, HasSubstr("c2 also runs"));
  EXPECT_EQ(RunWords("probe list --limit 9 -o name", controller).out, "c3\nc2\nc1\n");
  EXPECT_EQ(RunWords("probe list --since 1h -o name", controller).out, "c3\nc2\n");
  EXPECT_EQ(RunWords("probe list --since 71m -o name", controller).out, "c3\nc2\nc1\n");
}

TEST(ProbeRun, SaysForWhatACampaignCanWait) {
  FakeController controller = ThreeCampaigns();
  v1::Campaign waits = controller.Answer<v1::ListCampaignsResponse>().campaigns(0);
  v1::Campaign done = waits;
  done.set_state(v1::CAMPAIGN_STATE_DONE);
  controller.Answers<v1::Campaign>() = {waits, done};
  EXPECT_THAT(RunWords("probe run", controller, {.progress = true}).err,
              HasSubstr("0 of 8 probes, 0 failed; no result yet; c2 also runs and can hold"));
  EXPECT_EQ(controller.LastRequest<v1::ListCampaignsRequest>().filter(), "state=running");
}

TEST(StatusCommand, SaysForWhatACampaignCanWait) {
  FakeController controller = ThreeCampaigns();
  EXPECT_THAT(RunWords("status", controller).out,
              HasSubstr("0 of 8 probes, 0 failed; no result yet; c2 also runs"));
}

}  // namespace
}  // namespace fabric::ctl
