// Schedules: when campaigns start, what limits them, and what a restart leaves.
#include "daemon/control/schedules/schedules.h"

#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

class SchedulesTest : public ::testing::Test {
 protected:
  SchedulesTest() { world_.ConnectNodes(4); }

  static v1::Schedule Wanted(const std::string& cron) {
    v1::Schedule wanted;
    wanted.set_cron(cron);
    wanted.mutable_spec()->set_preset(v1::CAMPAIGN_PRESET_QUICK);
    wanted.set_author("mia");
    return wanted;
  }
  Status TryToAdd(const v1::Schedule& wanted) {
    v1::CreateScheduleRequest request;
    *request.mutable_schedule() = wanted;
    v1::Schedule schedule;
    return world_.controller->Call(request, schedule, world_.agents.now());
  }
  v1::Schedule Only() {
    v1::ListSchedulesResponse response;
    EXPECT_TRUE(
        world_.controller->Call(v1::ListSchedulesRequest(), response, world_.agents.now()).ok());
    EXPECT_EQ(response.schedules_size(), 1);
    return response.schedules_size() == 1 ? response.schedules(0) : v1::Schedule();
  }

  ControlWorld world_;
};

TEST_F(SchedulesTest, StartsACampaignThatIsMarkedAtItsTime) {
  ASSERT_TRUE(TryToAdd(Wanted("*/5 * * * *")).ok());
  EXPECT_EQ(Only().runs_total(), 0U);
  world_.agents.Advance(6min);
  const v1::Schedule schedule = Only();
  EXPECT_GE(schedule.runs_total(), 1U);
  ASSERT_GE(schedule.runs_size(), 1);
  EXPECT_TRUE(schedule.runs(0).has_ended_at());
  const v1::Campaign campaign = world_.Campaign(schedule.runs(0).campaign());
  EXPECT_EQ(campaign.schedule(), "s1");
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_GT(campaign.probes_ok(), 0U);
  EXPECT_EQ(schedule.skipped_reason(), "");
}

TEST_F(SchedulesTest, KeepTheFiguresOfPastRuns) {
  ASSERT_TRUE(TryToAdd(Wanted("*/5 * * * *")).ok());
  world_.agents.Advance(11min);
  v1::GetScheduleRequest request;
  request.set_id("s1");
  v1::ScheduleRecord record;
  ASSERT_TRUE(world_.controller->Call(request, record, world_.agents.now()).ok());
  EXPECT_EQ(record.schedule().runs_total(), Only().runs_total());
  ASSERT_GT(record.ports_size(), 0);
  EXPECT_EQ(record.ports(0).bandwidth_bps_size(), static_cast<int>(record.schedule().runs_total()));
  request.set_id("s2");
  EXPECT_EQ(world_.controller->Call(request, record, world_.agents.now()).code(), Code::kNotFound);
}

TEST_F(SchedulesTest, ARestartKeepsThemAndMissedTimesRunOnce) {
  ASSERT_TRUE(TryToAdd(Wanted("*/5 * * * *")).ok());
  world_.agents.Advance(6min);
  const std::uint64_t before = Only().runs_total();
  {
    ControlWorld other;  // Time passes without the controller.
    world_.agents.Attach(*other.controller);
    world_.controller.reset();
    world_.agents.Advance(1h);
  }
  world_.Restart();
  world_.ConnectNodes(4);
  world_.agents.Advance(1min);
  const std::uint64_t after = Only().runs_total();
  EXPECT_GE(after, before + 1);
  EXPECT_LE(after, before + 2) << "one for the missed times, and the next time";
}

TEST_F(SchedulesTest, NeverOverlapsItself) {
  for (const char* node : {"n1", "n2", "n3", "n4"})
    world_.agents.Behave(node, Behaviour::kNeverFinishes);
  v1::Schedule wanted = Wanted("* * * * *");
  v1::ProbeSpec& probe = *wanted.mutable_spec()->add_probes();
  probe.mutable_rc_write_latency();
  probe.set_timeout_ms(600'000);
  ASSERT_TRUE(TryToAdd(wanted).ok());
  world_.agents.Advance(4min);
  EXPECT_EQ(Only().runs_total(), 1U);
  EXPECT_EQ(Only().skipped_reason(), "campaign c1 of this schedule still runs");
}

TEST_F(SchedulesTest, KeepsItsBudget) {
  v1::Schedule wanted = Wanted("* * * * *");
  wanted.set_runs_per_day(2);
  ASSERT_TRUE(TryToAdd(wanted).ok());
  world_.agents.Advance(6min);
  EXPECT_EQ(Only().runs_total(), 2U);
  EXPECT_EQ(Only().skipped_reason(), "budget: 2 of 2 runs in 24 hours");
}

TEST_F(SchedulesTest, RefusesWithTheField) {
  EXPECT_EQ(TryToAdd(Wanted("0 0 30 2 *")).message(),
            "cron: expected a date that exists, saw '0 0 30 2 *'");
  EXPECT_THAT(TryToAdd(Wanted("61 * * * *")).message(), StartsWith("cron: minute: expected"));
  v1::Schedule wanted = Wanted("* * * * *");
  wanted.set_runs_per_day(289);
  EXPECT_EQ(TryToAdd(wanted).message(), "runs_per_day: expected 1 to 288, saw 289");
  wanted = Wanted("* * * * *");
  wanted.mutable_spec()->set_include_busy(true);
  EXPECT_EQ(TryToAdd(wanted).message(),
            "spec.include_busy: schedules probe idle ports only, expected false, saw true");
  wanted = Wanted("* * * * *");
  wanted.mutable_spec()->set_preset(static_cast<v1::CampaignPreset>(9));
  EXPECT_EQ(TryToAdd(wanted).message(),
            "spec: preset: expected one of quick, standard, thorough, saw 9");
  wanted = Wanted("* * * * *");
  wanted.mutable_spec()->add_nodes("n9");
  EXPECT_THAT(TryToAdd(wanted).message(), StartsWith("unknown node 'n9'"));
}

TEST_F(SchedulesTest, ARemovedOneStaysRemovedAfterARestart) {
  ASSERT_TRUE(TryToAdd(Wanted("*/5 * * * *")).ok());
  v1::DeleteScheduleRequest request;
  request.set_id("s2");
  v1::Schedule removed;
  EXPECT_EQ(world_.controller->Call(request, removed, world_.agents.now()).code(), Code::kNotFound);
  request.set_id("s1");
  ASSERT_TRUE(world_.controller->Call(request, removed, world_.agents.now()).ok());
  EXPECT_EQ(removed.author(), "mia");
  world_.Restart();
  v1::ListSchedulesResponse response;
  ASSERT_TRUE(
      world_.controller->Call(v1::ListSchedulesRequest(), response, world_.agents.now()).ok());
  EXPECT_EQ(response.schedules_size(), 0);
}

}  // namespace
}  // namespace fabric::control
