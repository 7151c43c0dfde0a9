// The commands schedule add, schedule list and schedule remove, and presets of probe run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

v1::Schedule Answered() {
  return FromText<v1::Schedule>(R"({"id": "s1", "cron": "30 2 * * *", "author": "ada",
    "next_run_at": "2026-11-25T02:30:00Z", "runs_total": "3",
    "runs": [{"campaign": "c7", "started_at": "2026-11-24T02:30:00Z"}],
    "skipped_reason": "budget: 1 of 1 runs in 24 hours"})");
}

TEST(ScheduleAdd, SendsTheExpressionTheBudgetAndTheCampaign) {
  FakeController controller;
  controller.Answer<v1::Schedule>() = Answered();
  const Said said = RunWords(
      "schedule add 30_2_*_*_* --preset quick --degree 2 --runs-per-day 1 --rails 0", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("Schedule s1 runs next at 2026-11-25T02:30:00Z."));
  const auto request = controller.LastRequest<v1::CreateScheduleRequest>();
  EXPECT_EQ(request.schedule().cron(), "30_2_*_*_*");
  EXPECT_EQ(request.schedule().author(), "ada");
  EXPECT_EQ(request.schedule().runs_per_day(), 1U);
  EXPECT_EQ(request.schedule().spec().preset(), v1::CAMPAIGN_PRESET_QUICK);
  EXPECT_EQ(request.schedule().spec().degree(), 2U);
  EXPECT_EQ(request.schedule().spec().rails_size(), 1);
}

TEST(ScheduleAdd, HasNoOptionForBusyPorts) {
  FakeController controller;
  const Said said = RunWords("schedule add x --include-busy", controller);
  EXPECT_EQ(said.status, kExitUsage);
}

TEST(ScheduleList, ShowsTheNextRunAndWhyTheLastOneDidNotStart) {
  FakeController controller;
  *controller.Answer<v1::ListSchedulesResponse>().add_schedules() = Answered();
  const Said said = RunWords("schedule list", controller);
  EXPECT_THAT(said.out, HasSubstr("2026-11-25T02:30:00Z"));
  EXPECT_THAT(said.out, HasSubstr("c7"));
  EXPECT_THAT(said.out, HasSubstr("budget: 1 of 1 runs in 24 hours"));
  EXPECT_EQ(RunWords("schedule list -o name", controller).out, "s1\n");
}

TEST(ScheduleShow, ShowsRunsAndThePastOfEachPortWorstFirst) {
  FakeController controller;
  v1::ScheduleRecord& record = controller.Answer<v1::ScheduleRecord>();
  *record.mutable_schedule() = Answered();
  record = FromText<v1::ScheduleRecord>(R"({
    "ports": [
      {"name": "n1/mlx5_0/1", "bandwidth_bps": [97e9, 96e9, 97e9], "latency_us": [2, 2, 2]},
      {"name": "n2/mlx5_0/1", "bandwidth_bps": [97e9, 97e9, 48.5e9], "latency_us": [2]}],
    "pairs": [{"name": "n1/mlx5_0/1 and n2/mlx5_0/1", "latency_us": [2, 2, 3]}]})");
  *record.mutable_schedule() = Answered();
  const Said said = RunWords("schedule show s1", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("Schedule s1 (30 2 * * *) of ada: 3 runs, the next one at "
                                  "2026-11-25T02:30:00Z."));
  EXPECT_THAT(said.out, HasSubstr("c7        2026-11-24T02:30:00Z  running"));
  EXPECT_THAT(said.out, HasSubstr("-50.0 %"));
  EXPECT_LT(said.out.find("n2/mlx5_0/1"), said.out.find("n1/mlx5_0/1"));
  EXPECT_THAT(said.out, ::testing::Not(HasSubstr("and n2/mlx5_0/1")));
  const Said wide = RunWords("schedule show s1 -o wide", controller);
  EXPECT_THAT(wide.out, HasSubstr("n1/mlx5_0/1 and n2/mlx5_0/1"));
  EXPECT_THAT(wide.out, HasSubstr("97.00 97.00 48.50"));
  EXPECT_EQ(controller.LastRequest<v1::GetScheduleRequest>().id(), "s1");
}

TEST(ProbeRecheck, NamesTheFindingsAndShowsTheCampaign) {
  FakeController controller;
  controller.Answer<v1::Campaign>() = FromText<v1::Campaign>(
      R"({"id": "c9", "state": "CAMPAIGN_STATE_DONE", "rechecks": ["f1", "f2"]})");
  const Said said = RunWords("probe recheck f1 f2", controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("c9"));
  EXPECT_EQ(controller.LastRequest<v1::RecheckFindingsRequest>().findings_size(), 2);
}

TEST(ScheduleRemove, NamesTheSchedule) {
  FakeController controller;
  controller.Answer<v1::Schedule>() = Answered();
  const Said said = RunWords("schedule remove s1", controller);
  EXPECT_THAT(said.out, HasSubstr("Schedule s1 is removed."));
  EXPECT_EQ(controller.LastRequest<v1::DeleteScheduleRequest>().id(), "s1");
}

v1::CampaignSpec SentBy(const std::string& words) {
  FakeController controller;
  const Said said = RunWords("probe run --no-wait " + words, controller);
  EXPECT_EQ(said.err, "") << words;
  return controller.LastRequest<v1::StartCampaignRequest>().spec();
}

TEST(ProbeRunPreset, FillsInKindsSizesAndPairs) {
  const v1::CampaignSpec quick = SentBy("--preset quick");
  EXPECT_EQ(quick.probes_size(), 2);
  EXPECT_EQ(quick.pattern(), v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  EXPECT_EQ(quick.degree(), 3U);
  EXPECT_TRUE(quick.until_decided());
  const v1::CampaignSpec standard = SentBy("--preset standard");
  EXPECT_EQ(standard.probes_size(), 3);
  EXPECT_EQ(standard.degree(), 8U);
  const v1::CampaignSpec thorough = SentBy("--preset thorough");
  EXPECT_EQ(thorough.probes_size(), 7);
  EXPECT_EQ(thorough.pattern(), v1::CAMPAIGN_PATTERN_ALL_PAIRS);
}

TEST(ProbeRunPreset, IsOverriddenByOtherOptions) {
  const v1::CampaignSpec ring = SentBy("--preset quick --pattern ring --bytes 4096");
  EXPECT_EQ(ring.pattern(), v1::CAMPAIGN_PATTERN_RING);
  EXPECT_EQ(ring.probes(0).rc_write_latency().message_bytes(), 4096U);
  EXPECT_EQ(ring.probes(0).rc_write_latency().iterations(), 200U);
  const v1::CampaignSpec ping = SentBy("--preset thorough --kind ping --pings 5");
  ASSERT_EQ(ping.probes_size(), 1);
  EXPECT_EQ(ping.probes(0).ud_ping().pings(), 5U);
  EXPECT_EQ(ping.pattern(), v1::CAMPAIGN_PATTERN_ALL_PAIRS);
}

TEST(ProbeRunPreset, RefusesAnUnknownName) {
  FakeController controller;
  const Said said = RunWords("probe run --preset quik", controller);
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_THAT(said.err, HasSubstr("unknown preset 'quik'; did you mean 'quick'?"));
}

}  // namespace
}  // namespace fabric::ctl
