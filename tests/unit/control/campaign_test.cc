// What becomes of the pairs of a campaign when one of its nodes does not do its part.
#include <set>
#include <string>

#include "base/text.h"
#include "proto/names.h"
#include "proto/timestamps.h"
#include "tests/testing/coverage.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

constexpr int kPairs = 6;   // 3 pairs of 3 nodes on each of 2 rails
constexpr int kProbes = 2;  // Latency and bandwidth

bool Concerns(const v1::PairResult& result, const std::string& node) {
  return result.from().node() == node || result.to().node() == node;
}

TEST(Campaign, ProbesEveryPairOfEveryRailOnce) {
  ControlWorld world;
  world.ConnectNodes(3);
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  EXPECT_EQ(campaign.id(), "c1");
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(campaign.probes_planned(), kPairs * kProbes);
  EXPECT_EQ(campaign.probes_ok(), kPairs * kProbes);
  EXPECT_EQ(campaign.probes_failed(), 0u);
  EXPECT_THAT(campaign.skipped(), IsEmpty());
  EXPECT_THAT(world.agents.violations(), IsEmpty());

  std::set<std::string> seen;
  for (const v1::PairResult& result : campaign.results()) {
    EXPECT_EQ(result.from().rail(), result.to().rail());
    EXPECT_GE(result.round(), 1u);
    EXPECT_LE(result.round(), campaign.rounds());
    EXPECT_EQ(result.result().has_latency(), result.probe().has_rc_write_latency());
    EXPECT_EQ(result.result().has_bandwidth(), result.probe().has_rc_write_bandwidth());
    EXPECT_GT(FromProto(result.ended_at()).time_since_epoch().count(), 0);
    std::set<std::string> ends = {result.from().node(), result.to().node()};
    EXPECT_TRUE(seen.insert(Format("{} {} {} {}", *ends.begin(), *ends.rbegin(),
                                   result.from().rail(), ProbeKindName(result.probe())))
                    .second)
        << "twice";
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kPairs * kProbes));
}

struct Case {
  const char* name;
  Behaviour behaviour;
  bool initiator;          // The bad node initiates at least one pair; else it responds in one.
  v1::ProbeStatus status;  // Of the pairs that fail. When an agent is gone: or UNREACHABLE.
  std::string reason;
  bool blamed;
  Duration longest;  // That the campaign may take
};

class BadNode : public ::testing::TestWithParam<Case> {};

TEST_P(BadNode, FailsItsPairsAndNeverTheCampaign) {
  ControlWorld world;
  world.ConnectNodes(3);
  const v1::PairResult sample = world.Finish(world.StartCampaign()).results(0);
  const std::string bad = GetParam().initiator ? sample.from().node() : sample.to().node();
  world.agents.Behave(bad, GetParam().behaviour);
  const Moment begun = world.agents.now();
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  EXPECT_LE((world.agents.now().steady - begun.steady), GetParam().longest);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_DONE);
  EXPECT_EQ(campaign.results_size(), kPairs * kProbes);
  EXPECT_EQ(campaign.probes_ok() + campaign.probes_failed(), campaign.probes_planned());
  EXPECT_GT(campaign.probes_failed(), 0u);
  for (const v1::PairResult& result : campaign.results()) {
    const v1::ProbeResult& probe = result.result();
    const std::string what = Format("{} to {}: {}: {}", result.from().node(), result.to().node(),
                                    Name(probe.status()), probe.reason());
    if (probe.status() == v1::PROBE_STATUS_OK) continue;
    EXPECT_TRUE(Concerns(result, bad)) << what;
    EXPECT_FALSE(probe.has_latency() || probe.has_bandwidth());
    EXPECT_EQ(probe.blamed_node(), GetParam().blamed ? bad : "") << what;
    if (probe.reason() == bad + ": the agent is not connected") continue;
    EXPECT_EQ(probe.status(), GetParam().status) << what;
    EXPECT_EQ(probe.reason(), bad + ": " + GetParam().reason) << what;
  }
  EXPECT_THAT(world.agents.violations(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Campaign, BadNode,
    ::testing::Values(
        Case{"Refuses", Behaviour::kRefuse, true, v1::PROBE_STATUS_REFUSED, "port busy", true, 1s},
        Case{"IsSilent", Behaviour::kSilent, true, v1::PROBE_STATUS_TIMED_OUT,
             "did not answer the assignment within 10000 ms", true, 100s},
        Case{"NeverArms", Behaviour::kNeverArms, false, v1::PROBE_STATUS_TIMED_OUT,
             "did not connect within 10000 ms", true, 80s},
        Case{"NeverFinishes", Behaviour::kNeverFinishes, true, v1::PROBE_STATUS_TIMED_OUT,
             "reported no result within 10000 ms", true, 80s},
        Case{"Fails", Behaviour::kFail, true, v1::PROBE_STATUS_FAILED,
             "transport retry counter exceeded", false, 1s},
        Case{"TalksNonsense", Behaviour::kNonsense, true, v1::PROBE_STATUS_FAILED,
             "reported ok with an invalid latency", true, 1s},
        Case{"Vanishes", Behaviour::kVanish, true, v1::PROBE_STATUS_UNREACHABLE,
             "connection closed: connection reset by peer", true, 1s},
        Case{"VanishesRunning", Behaviour::kVanishRunning, false, v1::PROBE_STATUS_UNREACHABLE,
             "connection closed: connection reset by peer", true, 1s}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Campaign, SaysWhyANodeVanished) {
  ControlWorld world;
  world.ConnectNodes(2);
  world.agents.Behave("n2", Behaviour::kVanish);
  const v1::Campaign campaign = world.Finish(world.StartCampaign());
  ASSERT_EQ(campaign.results_size(), 4);
  EXPECT_EQ(campaign.results(0).result().reason(),
            "n2: connection closed: connection reset by peer");
  EXPECT_EQ(campaign.results(3).result().reason(), "n2: the agent is not connected");
}

// A probe that lost pings is a result, and is counted as lossy.
TEST(Campaign, CountsProbesWithLostPingsAsLossy) {
  ControlWorld world;
  world.ConnectNodes(3);
  world.agents.SetPath([](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
    if (probe.local().node() != "n2" && probe.remote().node() != "n2") return;
    result.mutable_ping()->set_answered(80);
    result.mutable_ping()->set_lost(20);
  });
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_ud_ping();
  spec.add_rails(0);
  const std::string id = world.StartCampaign(spec);
  (void)world.Finish(id);
  v1::ListCampaignsResponse list;
  ASSERT_TRUE(world.controller->Call(v1::ListCampaignsRequest(), list, world.agents.now()).ok());
  ASSERT_EQ(list.campaigns_size(), 1);
  EXPECT_EQ(list.campaigns(0).probes_ok(), 3U);
  EXPECT_EQ(list.campaigns(0).probes_lossy(), 2U);
  EXPECT_EQ(list.campaigns(0).probes_failed(), 0U);
}

TEST(Campaign, EndsTheProbesOfANodeThatFallsSilent) {
  ControlWorld world;
  world.ConnectNodes(2);
  world.agents.Behave("n2", Behaviour::kSilent);
  const std::string id = world.StartCampaign();
  world.agents.Mute("n2", true);
  const v1::Campaign campaign = world.Finish(id, 5s);
  for (const v1::PairResult& result : campaign.results())
    EXPECT_EQ(result.result().status(), v1::PROBE_STATUS_UNREACHABLE);
  EXPECT_THAT(campaign.results(0).result().reason(), HasSubstr("n2: no message for 3.0 s"));
}

TEST(Campaign, SkipsALostNodeUnlessItIsNamed) {
  ControlWorld world;
  world.ConnectNodes(3);
  world.agents.Disconnect("n3", "gone");
  const v1::Campaign all = world.Finish(world.StartCampaign());
  EXPECT_EQ(all.probes_ok(), 4u);
  EXPECT_EQ(all.probes_failed(), 0u);
  EXPECT_THAT(testing::Texts(all.skipped()),
              ::testing::ElementsAre("n3: lost: connection closed: gone"));

  v1::CampaignSpec spec;
  spec.add_nodes("n1");
  spec.add_nodes("n3");
  const v1::Campaign named = world.Finish(world.StartCampaign(spec), 1s);
  EXPECT_EQ(named.probes_failed(), 4u);
  EXPECT_EQ(named.results(0).result().status(), v1::PROBE_STATUS_UNREACHABLE);
  EXPECT_EQ(named.results(0).result().blamed_node(), "n3");
}

TEST(Campaign, AsksOnlyAgentsThatKnowTheKind) {
  ControlWorld world;
  world.ConnectNodes(1);
  v1::AgentMessage message;
  v1::NodeSnapshot n2 = testing::Nodes(2, testing::RoceNode)[1];
  *message.mutable_hello()->mutable_node() = n2.node();
  message.mutable_hello()->add_probe_kinds("rc_write_latency");
  ASSERT_TRUE(world.controller->OnMessage(SessionId(99), message, world.agents.now()).ok());
  *message.mutable_snapshot() = n2;
  ASSERT_TRUE(world.controller->OnMessage(SessionId(99), message, world.agents.now()).ok());
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_rc_write_bandwidth();
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec), 2s);
  ASSERT_EQ(campaign.results_size(), 2);
  EXPECT_EQ(campaign.results(0).result().reason(), "n2: the agent cannot run rc_write_bandwidth");
}

}  // namespace
}  // namespace fabric::control
