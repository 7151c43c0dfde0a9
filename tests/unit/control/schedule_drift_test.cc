// Drift of scheduled campaigns, from the runs to the finding and its end.
#include "base/text.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/coverage.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

using ::testing::Not;

constexpr double kUsualBps = 97e9;
// Too close to the others for blame, which compares ports with each other; above the limit.
constexpr double kSlowerBps = 86e9;
const std::string kPortDrift = "probe_blame n2/mlx5_0/1";

class ScheduleDriftTest : public ::testing::Test {
 protected:
  ScheduleDriftTest() {
    world_.ConnectNodes(5);
    v1::CreateScheduleRequest request;
    v1::Schedule& wanted = *request.mutable_schedule();
    wanted.set_cron("*/2 * * * *");  // Longer than a port counts as probed lately
    wanted.set_runs_per_day(288);
    wanted.set_minutes_per_day(60);
    wanted.mutable_spec()->add_probes()->mutable_rc_write_bandwidth();
    wanted.mutable_spec()->add_rails(0);
    v1::Schedule schedule;
    EXPECT_TRUE(world_.controller->Call(request, schedule, world_.agents.now()).ok());
    Run(8);
    EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  }

  void Run(int runs) { world_.agents.Advance(runs * std::chrono::minutes(2)); }

  // All pairs of these two, or of the one with all others, have this bandwidth from now on.
  void SetSpeed(double bps, const std::string& node, const std::string& other = {}) {
    world_.agents.SetPath([=](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
      const auto is_end = [&](const std::string& name) {
        return probe.local().node() == name || probe.remote().node() == name;
      };
      if (result.has_bandwidth() && is_end(node) && (other.empty() || is_end(other)))
        result.mutable_bandwidth()->set_mean_bps(bps);
    });
  }

  v1::Finding Only() {
    v1::ListFindingsResponse response;
    EXPECT_TRUE(
        world_.controller->Call(v1::ListFindingsRequest(), response, world_.agents.now()).ok());
    return response.findings_size() == 1 ? response.findings(0) : v1::Finding();
  }

  std::uint64_t Runs() {
    v1::ListSchedulesResponse response;
    EXPECT_TRUE(
        world_.controller->Call(v1::ListSchedulesRequest(), response, world_.agents.now()).ok());
    return response.schedules(0).runs_total();
  }

  ControlWorld world_;
};

TEST_F(ScheduleDriftTest, APortThatIsSlowerThanItsOwnPastIsAFindingUntilAGoodRun) {
  SetSpeed(kSlowerBps, "n2");
  Run(1);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre(kPortDrift));
  const v1::Finding finding = Only();
  EXPECT_EQ(finding.located_by(), "schedule s1");
  EXPECT_EQ(finding.suspect().seen(), "86.0 Gb/s");
  EXPECT_THAT(finding.suspect().expected(), StartsWith("97.0 Gb/s (median of "));
  Run(3);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre(kPortDrift)) << "slow runs do not become usual";
  SetSpeed(kUsualBps, "n2");
  Run(2);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(ScheduleDriftTest, APairIsAFindingAfterTwoSlowerRuns) {
  SetSpeed(kSlowerBps, "n2", "n4");
  Run(1);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty()) << "other load at that moment explains one run";
  Run(1);
  EXPECT_EQ(Only().suspect().name(), "n2/mlx5_0/1 and n4/mlx5_0/1");
  SetSpeed(kUsualBps, "n2", "n4");
  Run(2);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(ScheduleDriftTest, AnOddRunOfAPairIsNoFinding) {
  for (int turn = 0; turn < 3; ++turn) {
    SetSpeed(kSlowerBps, "n2", "n4");
    Run(1);
    SetSpeed(kUsualBps, "n2", "n4");
    Run(1);
    EXPECT_THAT(world_.OpenFindings(), IsEmpty()) << turn;
  }
}

// With two partners left, the median of a port is that of other pairs than before.
TEST_F(ScheduleDriftTest, ARunWithFewerPairsOpensAndResolvesNoFinding) {
  SetSpeed(kSlowerBps, "n2");
  Run(1);
  ASSERT_THAT(world_.OpenFindings(), ElementsAre(kPortDrift));
  SetSpeed(kUsualBps, "n2");
  for (const char* node : {"n4", "n5"}) world_.agents.Disconnect(node, "test");
  const std::uint64_t before = Runs();
  Run(2);
  EXPECT_GT(Runs(), before);
  EXPECT_THAT(world_.OpenFindings(), Contains(kPortDrift)) << "its port was not measured enough";
  SetSpeed(kSlowerBps, "n1");
  Run(2);
  EXPECT_THAT(world_.OpenFindings(), Not(Contains("probe_blame n1/mlx5_0/1")));
}

// A job uses the port: it is left out, which shows neither a drift nor its end.
TEST_F(ScheduleDriftTest, APortUnderLoadIsNotCompared) {
  v1::AgentMessage message;
  v1::CounterTable& table = *message.mutable_counter_table();
  table.set_table_id(1);
  *table.mutable_sets() = testing::PairOf({testing::RoceNode({.number = 2})}).before[0].counters();
  ASSERT_EQ(world_.agents.Say("n2", message), Status());
  std::uint32_t index = 0, sent = 0;
  for (const v1::CounterSet& set : table.sets())
    for (const v1::Counter& counter : set.counters()) {
      if (set.device() == "mlx5_0" && counter.neutral() == "rdma_tx_bytes") sent = index;
      ++index;
    }
  SetSpeed(kSlowerBps, "n2");
  const std::uint64_t before = Runs();
  for (int second = 0; second < 240; ++second) {
    message.Clear();
    message.mutable_counter_sample()->set_table_id(1);
    message.mutable_counter_sample()->add_index_steps(sent);
    message.mutable_counter_sample()->add_deltas(5'000'000'000);
    ASSERT_EQ(world_.agents.Say("n2", message), Status());
    world_.agents.Advance(1s);
  }
  ASSERT_GT(Runs(), before);
  EXPECT_THAT(world_.OpenFindings(), Not(Contains(kPortDrift)));
  const v1::Campaign last = world_.Campaign(Format("c{}", Runs()));
  EXPECT_THAT(testing::Texts(last.skipped()), ElementsAre(StartsWith("n2/mlx5_0/1: busy: sends ")));
}

}  // namespace
}  // namespace fabric::control
