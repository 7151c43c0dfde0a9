// Campaigns of the pattern INCAST: all senders begin as one, the budget is kept, and what the ends
// counted is judged.
#include "daemon/control/campaigns/incast.h"

#include <set>
#include <string>

#include "base/text.h"
#include "tests/unit/control/campaign_words.h"

namespace fabric::control {
namespace {

v1::CampaignSpec ToHub(const std::string& hub) {
  v1::CampaignSpec spec;
  spec.set_hub(hub);
  spec.add_probes()->mutable_incast();
  spec.mutable_probes(0)->set_traffic_class(104);  // DSCP 26: priority 3 of these nodes
  return spec;
}

// As mlx5 counts, with PFC at the senders.
v1::PortCounterDeltas Paused(const v1::ProbeAssignment& assignment) {
  v1::PortCounterDeltas deltas;
  const bool sends = assignment.role() == v1::PROBE_ROLE_INITIATOR;
  for (const auto& [name, moved] :
       {std::pair("pfc_rx_frames_prio3", sends ? 12 : 0), std::pair("pfc_tx_frames_prio3", 0),
        std::pair("ack_timeout", 0), std::pair("seq_nak_received", 0)}) {
    v1::CounterDelta& delta = *deltas.add_counters();
    delta.set_name(name);
    delta.set_before(5);
    delta.set_after(static_cast<std::uint64_t>(5 + moved));
  }
  return deltas;
}

TEST(IncastCampaign, AllSendToTheHubAtOnceRailByRail) {
  ControlWorld world;
  world.ConnectNodes(5);
  world.agents.SetCounters(Paused);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(ToHub("n2")));

  EXPECT_EQ(campaign.rounds(), 2u) << "a rail after the other";
  EXPECT_EQ(campaign.probes_ok(), 8u);
  EXPECT_EQ(world.agents.probes_at_once_max(), 4u);
  EXPECT_THAT(world.agents.violations(), IsEmpty());
  ASSERT_EQ(campaign.incasts_size(), 2);
  for (const v1::IncastReport& report : campaign.incasts()) {
    EXPECT_EQ(report.receiver().node(), "n2");
    EXPECT_EQ(report.senders(), 4u);
    EXPECT_EQ(report.verdict(), v1::INCAST_VERDICT_LOSSLESS) << report.DebugString();
    EXPECT_EQ(report.counter_deltas_size(), 5);
    EXPECT_DOUBLE_EQ(report.receiver_bps(), 4 * 20e9);
  }
  EXPECT_FALSE(campaign.has_blame());
}

TEST(IncastCampaign, NobodyBeginsBeforeAllAreReady) {
  ControlWorld world;
  world.ConnectNodes(4);
  std::set<std::string> begun;
  world.agents.SetPath([&](const v1::ProbeAssignment& assignment, v1::ProbeResult&) {
    begun.insert(assignment.local().node());
  });
  world.agents.Mute("n3", true);
  v1::CampaignSpec spec = ToHub("n1");
  spec.add_rails(0);
  const std::string id = world.StartCampaign(spec);
  world.agents.Advance(1s);
  EXPECT_THAT(begun, IsEmpty());
  world.agents.Mute("n3", false);
  world.agents.Advance(200ms);
  EXPECT_EQ(begun, (std::set<std::string>{"n2", "n3", "n4"}));
  EXPECT_EQ(world.Finish(id).incasts(0).senders(), 3u);
}

TEST(IncastCampaign, ASenderThatIsNotReadyIsLeftBehind) {
  ControlWorld world;
  world.ConnectNodes(5);
  world.agents.SetCounters(Paused);
  world.agents.Behave("n3", Behaviour::kSilent);
  v1::CampaignSpec spec = ToHub("n1");
  spec.add_rails(0);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec), 30s);
  EXPECT_EQ(campaign.probes_ok(), 3u);
  EXPECT_EQ(campaign.probes_failed(), 1u);
  ASSERT_EQ(campaign.incasts_size(), 1);
  EXPECT_EQ(campaign.incasts(0).senders(), 3u);
  EXPECT_EQ(campaign.incasts(0).verdict(), v1::INCAST_VERDICT_LOSSLESS);
  EXPECT_THAT(campaign.incasts(0).evidence(),
              Contains(HasSubstr("n3/mlx5_0/1: timed out: n3: did not answer the assignment "
                                 "within 5000 ms")));
}

TEST(IncastCampaign, WithoutTheHubsAgentThereIsNone) {
  ControlWorld world;
  world.ConnectNodes(4);
  world.agents.SetCounters(Paused);
  world.agents.Behave("n1", Behaviour::kVanish);
  v1::CampaignSpec spec = ToHub("n1");
  spec.add_rails(0);
  const v1::Campaign campaign = world.Finish(world.StartCampaign(spec), 30s);
  EXPECT_EQ(campaign.probes_failed(), 3u);
  ASSERT_EQ(campaign.incasts_size(), 1);
  EXPECT_EQ(campaign.incasts(0).verdict(), v1::INCAST_VERDICT_UNKNOWN);
  EXPECT_THAT(campaign.incasts(0).evidence(), Contains("0 of 3 senders ran: no incast"));
}

TEST(IncastCampaign, SharesNoPortWithOtherCampaigns) {
  ControlWorld world;
  world.ConnectNodes(6);
  const std::string first = world.StartCampaign();
  const std::string incast = world.StartCampaign(ToHub("n4"));
  const std::string second = world.StartCampaign(ToHub("n5"));
  for (const std::string& id : {first, incast, second})
    EXPECT_EQ(world.Finish(id).probes_failed(), 0u) << id;
  EXPECT_THAT(world.agents.violations(), IsEmpty());
}

TEST(IncastCampaign, CancelledItIsOverAtOnce) {
  ControlWorld world;
  world.ConnectNodes(4);
  for (const char* node : {"n2", "n3", "n4"}) world.agents.Behave(node, Behaviour::kNeverFinishes);
  const std::string id = world.StartCampaign(ToHub("n1"));
  world.agents.Advance(500ms);
  EXPECT_TRUE(world.Cancel(id).has_ended_at());
  world.agents.Advance(10s);
  EXPECT_THAT(world.Campaign(id).incasts(), IsEmpty());
  for (const char* node : {"n2", "n3", "n4"}) world.agents.Behave(node, Behaviour::kOk);
  EXPECT_EQ(world.Finish(world.StartCampaign(ToHub("n1"))).probes_ok(), 6u) << "ports are free";
}

TEST(IncastCampaign, WhatDoesNotFitIsRefusedWithTheNumbers) {
  ControlWorld world({.pairs_at_once_max = 3});
  world.ConnectNodes(5);
  const Status status = world.Refusal(ToHub("n1"));
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(
      status.message(),
      "incast: 4 senders to n1/mlx5_0/1 at once, the maximum of concurrent pairs: 3; name fewer "
      "nodes");
  v1::CampaignSpec fewer = ToHub("n1");
  for (const char* node : {"n2", "n3", "n4"}) fewer.add_nodes(node);
  EXPECT_TRUE(world.Refusal(fewer).ok());

  ControlWorld large({.pairs_at_once_max = 1000});
  large.ConnectNodes(66);
  EXPECT_THAT(large.Refusal(ToHub("n1")).message(), HasSubstr("the maximum of one port: 64"));
}

TEST(IncastCampaign, KindAndPatternGoTogether) {
  ControlWorld world;
  world.ConnectNodes(3);
  v1::CampaignSpec spec = ToHub("n1");
  spec.add_probes()->mutable_rc_write_latency();
  EXPECT_EQ(world.Refusal(spec).code(), Code::kInvalidArgument);
  spec = ToHub("n1");
  spec.set_pattern(v1::CAMPAIGN_PATTERN_RING);
  EXPECT_EQ(world.Refusal(spec).message(),
            "pattern: a probe of kind incast needs the pattern INCAST");
  spec = ToHub("n1");
  spec.set_until_decided(true);
  EXPECT_EQ(world.Refusal(spec).code(), Code::kInvalidArgument);
  spec = ToHub("");
  EXPECT_EQ(world.Refusal(spec).message(),
            "hub: expected the node that all others send to, saw nothing");
  spec = ToHub("n1");
  spec.add_nodes("n2");
  EXPECT_THAT(world.Refusal(spec).message(), HasSubstr("incast requires two senders or more"));
}

TEST(IncastCampaign, NonsenseOfCountersIsDropped) {
  ControlWorld world;
  world.ConnectNodes(3);
  world.agents.SetCounters([](const v1::ProbeAssignment& assignment) {
    v1::PortCounterDeltas deltas = Paused(assignment);
    v1::CounterDelta& back = *deltas.add_counters();
    back.set_name("rx_discards");
    back.set_before(9);
    back.set_after(3);
    deltas.add_counters()->set_name("\x1b[31m");
    deltas.add_missing("NOT A NAME");
    return deltas;
  });
  const v1::Campaign campaign = world.Finish(world.StartCampaign(ToHub("n1")));
  for (const v1::PortCounterDeltas& deltas : campaign.incasts(0).counter_deltas()) {
    EXPECT_EQ(deltas.counters_size(), 4);
    EXPECT_THAT(deltas.missing(), IsEmpty());
    EXPECT_FALSE(deltas.port().device().empty());
  }
}

}  // namespace
}  // namespace fabric::control
