// Several campaigns, their ends before time, and what a restart leaves of them.
#include <algorithm>
#include <string>

#include "tests/testing/coverage.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

std::size_t CountOf(const v1::Campaign& campaign, v1::ProbeStatus status) {
  std::size_t count = 0;
  for (const v1::PairResult& result : campaign.results())
    if (result.result().status() == status) ++count;
  return count;
}

TEST(Campaigns, NeverPutAPortInTwoProbes) {
  ControlWorld world;
  world.ConnectNodes(6);
  const std::string first = world.StartCampaign();
  const std::string second = world.StartCampaign();
  const std::string third = world.StartCampaign();
  EXPECT_THAT((std::vector{first, second, third}), ElementsAre("c1", "c2", "c3"));
  for (const std::string& id : {first, second, third}) {
    const v1::Campaign campaign = world.Finish(id);
    EXPECT_EQ(campaign.probes_ok(), 60u) << "15 pairs on 2 rails, 2 probes";
    EXPECT_EQ(campaign.results_size(), 60);
  }
  EXPECT_THAT(world.agents.violations(), IsEmpty());
}

TEST(Campaigns, KeepTheLimitOfPairsTogether) {
  ControlWorld world({.pairs_at_once_max = 3});
  world.ConnectNodes(8);
  const std::string first = world.StartCampaign();
  const std::string second = world.StartCampaign();
  EXPECT_EQ(world.Finish(first).probes_ok(), 112u);
  EXPECT_EQ(world.Finish(second).probes_ok(), 112u);
  EXPECT_EQ(world.agents.probes_at_once_max(), 3u);
}

TEST(Campaigns, ASecondOneIsNotStarvedByTheFirst) {
  ControlWorld world({.pairs_at_once_max = 1});
  world.ConnectNodes(3);
  for (const char* node : {"n1", "n2", "n3"}) world.agents.Behave(node, Behaviour::kNeverFinishes);
  const std::string first = world.StartCampaign();
  const std::string second = world.StartCampaign();
  world.agents.Advance(60s);
  EXPECT_GT(world.Campaign(first).results_size(), 0);
  EXPECT_GT(world.Campaign(second).results_size(), 0);
}

TEST(Campaigns, CancelRecordsEveryProbeThatHadBegun) {
  ControlWorld world;
  world.ConnectNodes(4);
  for (const char* node : {"n1", "n2", "n3", "n4"})
    world.agents.Behave(node, Behaviour::kNeverFinishes);
  const std::string id = world.StartCampaign();
  world.agents.Deliver();
  EXPECT_EQ(world.Cancel(id).state(), v1::CAMPAIGN_STATE_CANCELLED);
  const v1::Campaign campaign = world.Finish(id, 1s);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_EQ(campaign.results_size(), 8) << "a round of two pairs on each of two rails";
  EXPECT_EQ(CountOf(campaign, v1::PROBE_STATUS_CANCELLED), 8u);
  EXPECT_EQ(campaign.results(0).result().reason(), "the campaign was cancelled");
  EXPECT_THAT(testing::Texts(campaign.skipped()),
              ElementsAre("not run: 16 of 24 probes: the campaign was cancelled"));
  EXPECT_EQ(world.Cancel(id).probes_cancelled(), 8u) << "idempotent";
  EXPECT_EQ(world.Cancel(id).probes_failed(), 0u);
  EXPECT_THAT(world.log.Lines(), Contains("campaign c1 cancelled").Times(1));

  for (const char* node : {"n1", "n2", "n3", "n4"}) world.agents.Behave(node, Behaviour::kOk);
  EXPECT_EQ(world.Finish(world.StartCampaign()).probes_ok(), 24u) << "the ports are free again";
  EXPECT_THAT(world.agents.violations(), IsEmpty());
}

TEST(Campaigns, CancelOfAHugeOneDoesNotHoldTheControllerUp) {
  ControlWorld world;
  world.ConnectNodes(48);
  const std::string id = world.StartCampaign();
  const v1::Campaign answer = world.Cancel(id);
  EXPECT_EQ(answer.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_TRUE(answer.has_ended_at()) << "at once";
  EXPECT_LT(answer.probes_failed(), answer.probes_planned());
  EXPECT_EQ(world.Campaign(id).results_size(), static_cast<int>(answer.probes_failed()));
}

TEST(Campaigns, ARestartEndsTheRunningAndCountsOn) {
  ControlWorld world;
  world.ConnectNodes(3);
  const std::string done = world.StartCampaign();
  world.Finish(done);
  world.agents.Behave("n1", Behaviour::kNeverFinishes);
  world.agents.Behave("n2", Behaviour::kNeverFinishes);
  const std::string running = world.StartCampaign();
  world.agents.Deliver();
  world.Restart();

  EXPECT_EQ(world.Campaign(done).state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(world.Campaign(done).results_size(), 12);
  const v1::Campaign ended = world.Campaign(running);
  EXPECT_EQ(ended.state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_TRUE(ended.has_ended_at());
  EXPECT_THAT(testing::Texts(ended.skipped()), ElementsAre("not run: the controller restarted"));

  world.ConnectNodes(3);
  world.agents.Behave("n1", Behaviour::kOk);
  world.agents.Behave("n2", Behaviour::kOk);
  EXPECT_EQ(world.StartCampaign(), "c3");
  EXPECT_EQ(world.Finish("c3").probes_ok(), 12u);

  v1::ListCampaignsResponse list;
  ASSERT_TRUE(world.controller->Call(v1::ListCampaignsRequest(), list, world.agents.now()).ok());
  ASSERT_EQ(list.campaigns_size(), 3);
  EXPECT_EQ(list.campaigns(0).id(), "c3");
  EXPECT_EQ(list.campaigns(2).id(), "c1");
}

std::uint64_t CampaignTurns(const ControlWorld& world) {
  std::uint64_t turns = 0;
  const TurnRecorder::Counts all = world.controller->Turns();
  for (const std::uint64_t bucket : all.at(TurnKind::kTickCampaigns).lengths.buckets)
    turns += bucket;
  return turns;
}

v1::Campaign WithoutResults(const ControlWorld& world, const std::string& id) {
  v1::GetCampaignRequest request;
  request.set_id(id);
  v1::Campaign campaign;
  EXPECT_TRUE(world.controller->Call(request, campaign, world.agents.now()).ok());
  return campaign;
}

// Pairs that are left out end at once: each turn ends some of them.
TEST(Campaigns, ManyPairsWithoutAgentsAreSeveralTurns) {
  ControlWorld world;
  world.ConnectNodes(40);
  for (int n = 1; n <= 40; ++n) world.agents.Behave(Format("n{}", n), Behaviour::kSilent);
  const std::string id = world.StartCampaign();
  std::uint64_t most = 0;
  for (int tick = 0; tick < 3'000; ++tick) {
    const v1::Campaign before = WithoutResults(world, id);
    if (before.state() != v1::CAMPAIGN_STATE_RUNNING) break;
    const std::uint64_t turns = CampaignTurns(world);
    world.agents.Advance(100ms);
    const std::uint64_t ended = WithoutResults(world, id).probes_failed() - before.probes_failed();
    most = std::max(most, ended);
    EXPECT_LE(ended, (CampaignTurns(world) - turns) * 100 *
                         static_cast<std::uint64_t>(before.spec().probes_size()));
  }
  EXPECT_GT(most, 500u);
}

// A campaign can have two million results.
TEST(Campaigns, ARestartReadsTheResultsInParts) {
  ControlWorld world;
  world.ConnectNodes(4);
  world.agents.Behave("n4", Behaviour::kNeverFinishes);
  const std::string id = world.StartCampaign();
  world.agents.Deliver();
  const v1::Campaign before = world.Campaign(id);
  EXPECT_GT(before.probes_ok(), 0u);
  world.store->results_read_max = 0;
  world.Restart();
  EXPECT_GT(world.store->results_read_max, 0u);
  EXPECT_LE(world.store->results_read_max, 10'000u);
  EXPECT_EQ(world.Campaign(id).probes_ok(), before.probes_ok());
}

std::ptrdiff_t ResultsTold(const testing::EventLog& log) {
  return std::count_if(log.events.begin(), log.events.end(),
                       [](const v1::Event& event) { return event.has_pair_result(); });
}

// Killed between the results and the turn that keeps them: nobody has been told of those.
TEST(Campaigns, AControllerThatIsKilledKeepsWhatItHasTold) {
  for (const bool asked : {false, true}) {
    ControlWorld world;
    world.ConnectNodes(4);
    world.agents.Behave("n4", Behaviour::kNeverFinishes);
    const std::string id = world.StartCampaign();
    world.agents.Deliver();
    EXPECT_EQ(ResultsTold(world.log), 0);
    const int told = asked ? world.Campaign(id).results_size() : 0;
    EXPECT_EQ(told > 0, asked) << "pairs without n4 are done";
    EXPECT_EQ(ResultsTold(world.log), told);
    world.Restart();
    const v1::Campaign kept = world.Campaign(id);
    EXPECT_EQ(kept.state(), v1::CAMPAIGN_STATE_CANCELLED);
    EXPECT_EQ(kept.results_size(), told);
    EXPECT_LE(kept.probes_ok(), static_cast<std::uint32_t>(kept.results_size()));
  }
}

TEST(Campaigns, WriteTheResultsOfATurnTogether) {
  ControlWorld world;
  world.ConnectNodes(4);
  world.agents.Behave("n4", Behaviour::kNeverFinishes);
  world.StartCampaign();
  world.agents.Advance(100ms);
  EXPECT_GT(ResultsTold(world.log), 2) << "two kinds of probes on two rails";
  EXPECT_EQ(world.store->result_writes, 1u);
  world.agents.Advance(1s);
  EXPECT_EQ(world.store->result_writes, 1u) << "nothing came";
}

TEST(Campaigns, GoOnWithoutTheDisk) {
  ControlWorld world;
  world.ConnectNodes(3);
  const std::string id = world.StartCampaign();
  world.store->failure = Status(Code::kUnavailable, "state.db: the disk is full");
  const v1::Campaign campaign = world.Finish(id);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(campaign.probes_ok(), 12u);
  EXPECT_EQ(campaign.results_size(), 12) << "held in memory";
  EXPECT_EQ(world.controller->store_condition().failure, world.store->failure);
  world.store->failure = Status();
  world.agents.Advance(2s);
  const store::Condition condition = world.controller->store_condition();
  EXPECT_TRUE(condition.failure.ok()) << condition.failure.message();
  EXPECT_EQ(condition.pending, 0u);
  EXPECT_EQ(condition.dropped, 0u);
  world.Restart();
  EXPECT_EQ(world.Campaign(id).SerializeAsString(), campaign.SerializeAsString());
}

TEST(Campaigns, AnUnknownOneIsNotFound) {
  ControlWorld world;
  world.ConnectNodes(2);
  world.Finish(world.StartCampaign());
  for (const auto& [id, message] : std::vector<std::pair<std::string, std::string>>{
           {"c7", "unknown campaign 'c7'; did you mean 'c1'?"},
           {"c01", "unknown campaign 'c01'; did you mean 'c1'?"},
           {"campaign", "unknown campaign 'campaign'"},
           {"c99999999999999999999", "unknown campaign 'c99999999999999999999'"}}) {
    v1::GetCampaignRequest request;
    request.set_id(id);
    v1::Campaign campaign;
    EXPECT_EQ(world.controller->Call(request, campaign, world.agents.now()),
              Status(Code::kNotFound, message));
  }
  v1::GetCampaignRequest request;
  request.set_id("c1");
  v1::Campaign bare;
  ASSERT_TRUE(world.controller->Call(request, bare, world.agents.now()).ok());
  EXPECT_EQ(bare.results_size(), 0);
  EXPECT_EQ(bare.probes_ok(), 4u);
}

}  // namespace
}  // namespace fabric::control
