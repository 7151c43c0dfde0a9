// What each pattern of a campaign makes of the same fleet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "daemon/plan/budget.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/coverage.h"
#include "tests/testing/nodes.h"
#include "tests/unit/plan/pairs_of.h"

namespace fabric::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;

v1::CampaignSpec Spec(v1::CampaignPattern pattern) {
  v1::CampaignSpec spec;
  spec.set_pattern(pattern);
  return spec;
}

// n1 and n2 under leaf1, n3 and n4 under leaf2, n5 under a switch that says nothing.
std::vector<v1::NodeSnapshot> NodesUnderLeaves() {
  std::vector<v1::NodeSnapshot> nodes = Nodes(5, testing::LabNode, {.rails = 1});
  for (std::size_t n = 0; n < 4; ++n) {
    v1::LldpNeighbor& neighbor = *nodes[n].add_lldp_neighbors();
    neighbor.set_netdev("rail0");
    neighbor.set_chassis_id(n < 2 ? "aa" : "bb");
    neighbor.set_system_name(n < 2 ? "leaf1" : "leaf2");
  }
  return nodes;
}

TEST(Patterns, RandomRegularGivesEachPortItsNumberOfPartners) {
  v1::CampaignSpec spec = Spec(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  for (const std::uint64_t seed : {0U, 1U, 99U}) {
    spec.set_seed(seed);
    const auto plan = PlanFor(Nodes(16, testing::LabNode), spec);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->rounds.size(), 4u);
    std::map<std::string, std::set<std::string>> partners;
    for (const auto& round : RoundsOf(*plan)) {
      for (const PairTask& task : round) {
        partners[NameOf(task.from)].insert(NameOf(task.to));
        partners[NameOf(task.to)].insert(NameOf(task.from));
      }
    }
    EXPECT_EQ(partners.size(), 32u);
    for (const auto& [port, others] : partners) EXPECT_EQ(others.size(), 4u) << port;
  }
  spec.set_degree(99);
  EXPECT_EQ(PlanFor(Nodes(16, testing::LabNode), spec)->rounds.size(), 15u) << "all there are";
}

TEST(Patterns, RandomRegularIsAnotherOneForAnotherSeed) {
  v1::CampaignSpec spec = Spec(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  const auto nodes = Nodes(12, testing::LabNode);
  const std::string first = Text(*PlanFor(nodes, spec));
  EXPECT_EQ(Text(*PlanFor(nodes, spec)), first);
  spec.set_seed(1);
  EXPECT_NE(Text(*PlanFor(nodes, spec)), first);
}

TEST(Patterns, CrossRailPairsNoRailWithItself) {
  const auto plan = PlanFor(Nodes(3, testing::LabNode), Spec(v1::CAMPAIGN_PATTERN_CROSS_RAIL));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n2/rxe1", "n1/rxe0 n3/rxe1", "n1/rxe1 n2/rxe0",
                                        "n1/rxe1 n3/rxe0", "n2/rxe0 n3/rxe1", "n2/rxe1 n3/rxe0"));
}

TEST(Patterns, OneToManyAndManyToOneHaveAHub) {
  v1::CampaignSpec spec = Spec(v1::CAMPAIGN_PATTERN_ONE_TO_MANY);
  EXPECT_THAT(PlanFor(Nodes(3, testing::LabNode), spec).status().message(),
              HasSubstr("hub: expected the node"));
  spec.set_hub("n22");
  EXPECT_EQ(PlanFor(Nodes(3, testing::LabNode), spec).status().message(),
            "hub: unknown node 'n22'; did you mean 'n2'?");
  spec.set_hub("n2");
  auto plan = PlanFor(Nodes(4, testing::LabNode), spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.size(), 3u);
  EXPECT_EQ(plan->rounds.pairs(), 6u);
  for (const auto& round : RoundsOf(*plan))
    for (const PairTask& task : round) EXPECT_EQ(task.from.node(), "n2");

  spec.set_pattern(v1::CAMPAIGN_PATTERN_MANY_TO_ONE);
  spec.add_nodes("n4");
  plan = PlanFor(Nodes(4, testing::LabNode), spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Text(*plan), "n4/rxe0>n2/rxe0 n4/rxe1>n2/rxe1 \n") << "the hub need not be named twice";
}

TEST(Patterns, AHubWithoutAPortOnARailSkipsThatRail) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::LinkDown(nodes[0], 1);
  v1::CampaignSpec spec = Spec(v1::CAMPAIGN_PATTERN_ONE_TO_MANY);
  spec.set_hub("n1");
  const auto plan = PlanFor(nodes, spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.pairs(), 2u);
  EXPECT_THAT(testing::Texts(plan->skipped),
              Contains("n2/rxe1/1: n1 has no port to probe on rail 1"));
}

TEST(Patterns, RingIsTwoRounds) {
  const auto plan =
      PlanFor(Nodes(4, testing::LabNode, {.rails = 1}), Spec(v1::CAMPAIGN_PATTERN_RING));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(Text(*plan), "n1/rxe0>n2/rxe0 n3/rxe0>n4/rxe0 \nn2/rxe0>n3/rxe0 n4/rxe0>n1/rxe0 \n");
}

TEST(Patterns, SameLeafAndAcrossAreAllPairsTogether) {
  const auto same = PlanFor(NodesUnderLeaves(), Spec(v1::CAMPAIGN_PATTERN_SAME_LEAF));
  ASSERT_TRUE(same.ok());
  EXPECT_THAT(Pairs(*same), ElementsAre("n1/rxe0 n2/rxe0", "n3/rxe0 n4/rxe0"));
  EXPECT_EQ(same->rounds.size(), 1u) << "leaves beside each other";
  const auto across = PlanFor(NodesUnderLeaves(), Spec(v1::CAMPAIGN_PATTERN_ACROSS));
  ASSERT_TRUE(across.ok());
  EXPECT_THAT(Pairs(*across), ElementsAre("n1/rxe0 n3/rxe0", "n1/rxe0 n4/rxe0", "n2/rxe0 n3/rxe0",
                                          "n2/rxe0 n4/rxe0"));
  for (const auto* plan : {&*same, &*across})
    EXPECT_THAT(testing::Texts(plan->skipped),
                ElementsAre("n5/rxe0/1: leaf switch not known (no LLDP neighbor, not in an "
                            "InfiniBand topology, no place in the profile)"));
  EXPECT_THAT(across->leaf_names, ElementsAre("leaf1", "leaf2"));
}

// leaf1 and leaf2 are in one pod; n5 is under leaf3, which the profile alone knows, in another.
fleet::Sites Pods() {
  v1::Profile profile;
  profile.set_name("pods");
  v1::Place& first = *profile.add_places();
  first.add_leaves("leaf1");
  first.add_leaves("leaf2");
  first.set_pod("pod1");
  v1::Place& second = *profile.add_places();
  second.mutable_where()->add_nodes("n5");
  second.set_leaf("leaf3");
  second.set_pod("pod2");
  return fleet::Sites(*profile::Places::Make(profile, {}));
}

Result<Plan> PlanInPods(v1::CampaignPattern pattern) {
  fleet::Fleet fleet;
  for (const v1::NodeSnapshot& node : NodesUnderLeaves()) fleet.Put(node, {});
  return MakePlan(fleet::FleetView(fleet), Spec(pattern), {}, Pods());
}

TEST(Patterns, SamePodIsDifferentLeavesOfOnePod) {
  const auto plan = PlanInPods(v1::CAMPAIGN_PATTERN_SAME_POD);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n3/rxe0", "n1/rxe0 n4/rxe0", "n2/rxe0 n3/rxe0",
                                        "n2/rxe0 n4/rxe0"));
  EXPECT_THAT(testing::Texts(plan->skipped),
              ElementsAre("n5/rxe0/1: no partner on rail 0 under another switch of pod2"));
  EXPECT_THAT(plan->pod_names, ElementsAre("pod1", "pod2"));
}

TEST(Patterns, AcrossIsAcrossPodsWhereTheyAreKnown) {
  const auto plan = PlanInPods(v1::CAMPAIGN_PATTERN_ACROSS);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n5/rxe0", "n2/rxe0 n5/rxe0", "n3/rxe0 n5/rxe0",
                                        "n4/rxe0 n5/rxe0"));
}

TEST(Patterns, WithoutPlacesThereAreNoPods) {
  const Status status = PlanFor(NodesUnderLeaves(), Spec(v1::CAMPAIGN_PATTERN_SAME_POD)).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("pod not known (no place in the profile)"));
}

TEST(Patterns, WithoutLldpThereAreNoLeaves) {
  const Status status =
      PlanFor(Nodes(2, testing::LabNode), Spec(v1::CAMPAIGN_PATTERN_SAME_LEAF)).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("no LLDP neighbor"));
}

TEST(Patterns, LoopbackIsEachPortWithItself) {
  const auto plan = PlanFor(Nodes(2, testing::LabNode), Spec(v1::CAMPAIGN_PATTERN_LOOPBACK));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.size(), 1u);
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n1/rxe0", "n1/rxe1 n1/rxe1", "n2/rxe0 n2/rxe0",
                                        "n2/rxe1 n2/rxe1"));
}

TEST(Patterns, WithinNodeIsPortToPort) {
  const auto plan =
      PlanFor(Nodes(2, testing::LabNode, {.rails = 3}), Spec(v1::CAMPAIGN_PATTERN_WITHIN_NODE));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.size(), 3u);
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n1/rxe1", "n1/rxe0 n1/rxe2", "n1/rxe1 n1/rxe2",
                                        "n2/rxe0 n2/rxe1", "n2/rxe0 n2/rxe2", "n2/rxe1 n2/rxe2"));
}

TEST(Patterns, CablesTakesTheRoundsOfTheCover) {
  const std::vector<v1::NodeSnapshot> nodes = Nodes(4, testing::LabNode, {.rails = 1});
  const Status without = PlanFor(nodes, Spec(v1::CAMPAIGN_PATTERN_CABLES)).status();
  EXPECT_EQ(without.code(), Code::kFailedPrecondition);
  EXPECT_THAT(without.message(), HasSubstr("requires the routes of an InfiniBand subnet"));
  fleet::Fleet fleet;
  for (const v1::NodeSnapshot& node : nodes) fleet.Put(node, {});
  const auto cover = [](std::span<const v1::ProbePort> ports) -> Result<Cover> {
    EXPECT_EQ(ports.size(), 4U);
    Cover made;
    made.rounds = {{{0, 3}, {1, 2}}, {{3, 1}}};
    made.gaps.emplace_back().set_text("7 of 8 cables");
    return made;
  };
  const auto plan =
      MakePlan(fleet::FleetView(fleet), Spec(v1::CAMPAIGN_PATTERN_CABLES), {}, {}, cover);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->rounds.size(), 2U);
  EXPECT_EQ(plan->rounds.pairs(), 3U);
  ASSERT_EQ(plan->skipped.size(), 1U);
  EXPECT_EQ(plan->skipped[0].text(), "7 of 8 cables");
}

TEST(Patterns, AnUnknownOneIsRefused) {
  EXPECT_EQ(
      PlanFor(Nodes(2, testing::LabNode), Spec(static_cast<v1::CampaignPattern>(77))).status(),
      Status(Code::kInvalidArgument, "pattern: unknown value 77"));
}

TEST(Budget, OfTheFabricAndOfUplinks) {
  const auto plan = PlanFor(NodesUnderLeaves(), Spec(v1::CAMPAIGN_PATTERN_ALL_PAIRS));
  ASSERT_TRUE(plan.ok());
  Budget fabric(*plan, 1, 0);
  EXPECT_TRUE(fabric.Take({0, 1}));
  EXPECT_FALSE(fabric.Take({2, 3}));
  fabric.Give({0, 1});
  EXPECT_TRUE(fabric.Take({2, 3}));

  Budget uplinks(*plan, 0, 1);
  EXPECT_TRUE(uplinks.Take({0, 1})) << "within leaf1";
  EXPECT_TRUE(uplinks.Take({0, 2})) << "the first out of both leaves";
  EXPECT_FALSE(uplinks.Take({1, 3}));
  EXPECT_TRUE(uplinks.Take({2, 3})) << "within leaf2";
  EXPECT_FALSE(uplinks.Take({1, 4})) << "out of leaf1, to where nobody knows";
  uplinks.Give({0, 2});
  EXPECT_TRUE(uplinks.Take({1, 3}));
}

TEST(Budget, SplitsARoundIntoWaves) {
  const auto plan = PlanFor(Nodes(8, testing::LabNode));
  ASSERT_TRUE(plan.ok());
  const std::vector<Pair> round = plan->rounds.At(0);
  ASSERT_EQ(round.size(), 8u);
  EXPECT_EQ(Waves(*plan, round, 0, 0).size(), 1u);
  const auto waves = Waves(*plan, round, 3, 0);
  ASSERT_EQ(waves.size(), 3u);
  EXPECT_EQ(waves[0].size() + waves[1].size() + waves[2].size(), 8u);
}

// Four nodes half a minute apart, n2 with a job on its first rail.
std::vector<fleet::NodeRecord> NodesWithAJob() {
  testing::Pair pair = testing::PairOf(Nodes(4, testing::RoceNode, {.rails = 1}));
  testing::Busy(pair, 1, 0);
  std::vector<fleet::NodeRecord> records(pair.after.size());
  for (std::size_t n = 0; n < records.size(); ++n) {
    records[n].name = pair.after[n].node().name();
    records[n].rates = fleet::CounterRates::Between(pair.before[n], pair.after[n]);
    records[n].snapshot = pair.after[n];
  }
  return records;
}

TEST(BusyPorts, AreLeftAloneUnlessTheyAreIncluded) {
  const std::vector<fleet::NodeRecord> records = NodesWithAJob();
  const fleet::FleetView fleet(records);
  auto plan = MakePlan(fleet, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.pairs(), 3u);
  ASSERT_EQ(plan->skipped.size(), 1u);
  EXPECT_EQ(plan->skipped[0].reason(), v1::COVERAGE_GAP_REASON_PORT_BUSY);
  EXPECT_THAT(ToString(plan->skipped[0]), HasSubstr("n2/mlx5_0/1: busy: sends "));

  v1::CampaignSpec spec;
  spec.set_include_busy(true);
  EXPECT_EQ(MakePlan(fleet, spec)->rounds.pairs(), 6u);
}

TEST(BusyPorts, ThatWereProbedLatelyMayCarryTheTrafficOfProbes) {
  const std::vector<fleet::NodeRecord> records = NodesWithAJob();
  const auto plan = MakePlan(fleet::FleetView(records), {}, {"n2/mlx5_0/1"});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->rounds.pairs(), 6u);
}

}  // namespace
}  // namespace fabric::plan
