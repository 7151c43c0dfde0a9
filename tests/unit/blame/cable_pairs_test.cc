// Pairs that pass every cable of a simulated subnet, and campaigns that use them.
#include "daemon/blame/cable_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/blame/analyzer.h"
#include "tests/unit/blame/cable_world.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::blame {
namespace {

using subnet::testing::FatTree;
using subnet::testing::Pods;
using subnet::testing::TestSubnet;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::set<ChannelId> Passed(const Fabric& fabric, const CableCover& cover) {
  std::set<ChannelId> passed;
  std::vector<ChannelId> channels;
  for (const auto& round : cover.rounds) {
    std::set<std::uint32_t> busy;
    for (const ProbeRequest& pair : round) {
      EXPECT_TRUE(busy.insert(pair.from).second);
      EXPECT_TRUE(busy.insert(pair.to).second);
      EXPECT_NE(fabric.endpoints[pair.from].node, fabric.endpoints[pair.to].node);
      channels.clear();
      EXPECT_TRUE(fabric.routes.AddPath(pair.from, pair.to, channels));
      EXPECT_TRUE(fabric.routes.AddPath(pair.to, pair.from, channels));
      passed.insert(channels.begin(), channels.end());
    }
  }
  return passed;
}

std::size_t PairsOf(const CableCover& cover) {
  std::size_t pairs = 0;
  for (const auto& round : cover.rounds) pairs += round.size();
  return pairs;
}

std::vector<v1::ProbePort> PortsOf(const Fabric& fabric) {
  std::vector<v1::ProbePort> ports;
  for (const Endpoint& endpoint : fabric.endpoints) {
    v1::ProbePort& port = ports.emplace_back();
    port.set_node(endpoint.node);
    port.set_device(endpoint.device);
    port.set_port(endpoint.port);
  }
  return ports;
}

TEST(PairsForCables, UseEachEndpointOnceAndCoverTheCables) {
  CableWorld world(Make(Pods{.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .uplinks = 4}));
  std::mt19937_64 random(1);
  for (std::uint32_t round = 1; round <= 12; ++round) {
    const auto pairs = PairsForCables(world.fabric(), world.observations(), {}, random());
    std::set<std::uint32_t> used;
    for (const ProbeRequest& pair : pairs) {
      EXPECT_TRUE(used.insert(pair.from).second);
      EXPECT_TRUE(used.insert(pair.to).second);
    }
    world.Probe(pairs, round, random);
  }
  std::set<ChannelId> seen;
  for (const Observation& each : world.observations()) {
    std::vector<ChannelId> channels;
    world.fabric().routes.AddPath(each.from, each.to, channels);
    world.fabric().routes.AddPath(each.to, each.from, channels);
    seen.insert(channels.begin(), channels.end());
  }
  EXPECT_GE(seen.size(), UsedChannels(world.fabric()).size() * 95 / 100);
}

TEST(CoverCables, PassesEachChannelThatARouteUsesWithFewPairs) {
  const TestSubnet trees[] = {
      Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}),
      Make(Pods{.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .uplinks = 4})};
  for (const TestSubnet& made : trees) {
    const CableWorld world(made);
    const CableCover cover = CoverCables(world.fabric(), {}, 100'000, 1);
    EXPECT_EQ(cover.cables, world.cables());
    EXPECT_EQ(cover.passed + cover.unused.size(), cover.cables);
    EXPECT_THAT(cover.left_out, IsEmpty());
    EXPECT_EQ(Passed(world.fabric(), cover), UsedChannels(world.fabric()));
    EXPECT_LT(PairsOf(cover), 2 * world.cables());
    EXPECT_EQ(CoverCables(world.fabric(), {}, 100'000, 1).rounds, cover.rounds) << "same seed";
  }
}

TEST(CoverCables, NamesTheCablesThatNoRouteOfTheNodesUses) {
  const CableWorld world(Make(FatTree{.leaves = 4, .spines = 2, .hosts = 4}));
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < world.fabric().endpoints.size(); ++i)
    if (world.fabric().endpoints[i].leaf != "leaf-3") chosen.push_back(i);
  const CableCover cover = CoverCables(world.fabric(), chosen, 1000, 1);
  EXPECT_EQ(cover.cables, 8U);
  EXPECT_EQ(cover.passed, 6U);
  ASSERT_EQ(cover.unused.size(), 2U);
  for (const std::string& cable : cover.unused) EXPECT_THAT(cable, HasSubstr("leaf-3 port"));
}

TEST(CoverCables, StopsAtTheLimitOfPairs) {
  const CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  const CableCover cover = CoverCables(world.fabric(), {}, 3, 1);
  EXPECT_EQ(PairsOf(cover), 3U);
  EXPECT_GT(cover.left_out.size(), 0U);
  EXPECT_EQ(cover.passed + cover.left_out.size() + cover.unused.size(), cover.cables);
}

TEST(CoverPorts, FailsWithoutRoutesAndWhereNoCableIsUsed) {
  const CableWorld world(Make(FatTree{.leaves = 4, .spines = 2, .hosts = 4}));
  Fabric without = world.fabric();
  without.routes = {};
  const std::vector<v1::ProbePort> ports = PortsOf(world.fabric());
  const Status unknown = CoverPorts(without, ports, 1).status();
  EXPECT_EQ(unknown.code(), Code::kFailedPrecondition);
  EXPECT_THAT(unknown.message(), HasSubstr("forwarding tables"));
  std::vector<v1::ProbePort> under_one;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (world.fabric().endpoints[i].leaf == "leaf-1") under_one.push_back(ports[i]);
  const Status unused = CoverPorts(world.fabric(), under_one, 1).status();
  EXPECT_EQ(unused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(unused.message(), HasSubstr("4 of 4 ports"));
}

TEST(CoverPorts, SaysHowManyCablesArePassedAndWhichPortsHaveNoRoutes) {
  const CableWorld world(Make(FatTree{.leaves = 4, .spines = 2, .hosts = 4}));
  std::vector<v1::ProbePort> ports;
  const std::vector<v1::ProbePort> all = PortsOf(world.fabric());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (world.fabric().endpoints[i].leaf != "leaf-3") ports.push_back(all[i]);
  v1::ProbePort other = ports.front();
  other.set_node("elsewhere");
  ports.push_back(other);
  const auto cover = CoverPorts(world.fabric(), ports, 1);
  ASSERT_TRUE(cover.ok()) << cover.status().message();
  ASSERT_EQ(cover->gaps.size(), 2U);
  EXPECT_EQ(cover->gaps[0].node(), "elsewhere");
  EXPECT_THAT(cover->gaps[1].text(),
              HasSubstr("6 of 8 cables between switches are passed; no route of these nodes uses "
                        "2: cable spine-1 port 3 - leaf-3 port"));
}

// What a campaign of the pattern CABLES with --until-decided does: before each planned round, the
// rounds that blame asks for. Returns the number of rounds.
std::uint32_t RunCampaign(CableWorld& world, const CableCover& cover, std::uint32_t rounds_max,
                          std::mt19937_64& random, v1::BlameReport& report) {
  std::vector<std::uint32_t> all(world.fabric().endpoints.size());
  std::iota(all.begin(), all.end(), 0U);
  std::uint32_t round = 0;
  std::size_t planned = 0;
  while (round < rounds_max) {
    Analyzer analyzer(world.fabric());
    analyzer.Add(world.observations());
    Assessment assessment = analyzer.Assess(all);
    report = std::move(assessment.report);
    const bool over = planned == cover.rounds.size();
    if (round > 0 && assessment.decided) break;
    if (round > 0 && !assessment.next.empty() && (over || !assessment.next_already_tried))
      world.Probe(assessment.next, ++round, random);
    else if (!over)
      world.Probe(cover.rounds[planned++], ++round, random);
    else
      break;
  }
  return round;
}

TEST(CableCampaign, NamesABadCableWithTheRoundsThatBlameAsksFor) {
  const CableWorld healthy(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  const CableCover cover = CoverCables(healthy.fabric(), {}, 100'000, 5);
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    CableWorld world = healthy;
    world.Break(random() % world.cables(), seed % 2 == 0 ? 1 : 0.3, true);
    v1::BlameReport report;
    RunCampaign(world, cover, 20, random, report);
    for (const v1::Suspect& suspect : report.suspects()) {
      if (suspect.kind() != v1::SUSPECT_KIND_LINK) continue;
      EXPECT_EQ(suspect.name(), world.BadName());
      ++named;
    }
  }
  EXPECT_GE(named, 6);
}

TEST(CableCampaign, OfAHealthySubnetAccusesNothing) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  std::mt19937_64 random(1);
  v1::BlameReport report;
  RunCampaign(world, CoverCables(world.fabric(), {}, 100'000, 5), 20, random, report);
  EXPECT_EQ(report.suspects_size(), 0) << report.ShortDebugString();
}

// Cables whose directions carry the same flows as this direction of a cable: no probe distinguishes
// them.
std::set<ChannelId> TwinsOf(const Fabric& fabric, ChannelId channel) {
  std::map<ChannelId, std::size_t> shared;
  std::size_t all = 0;
  std::vector<ChannelId> path;
  const auto ends = static_cast<std::uint32_t>(fabric.endpoints.size());
  std::map<std::uint32_t, std::uint32_t> of_leaf;
  for (std::uint32_t end = 0; end < ends; ++end) of_leaf.emplace(*fabric.routes.LeafOf(end), end);
  std::map<ChannelId, std::size_t> flows;
  for (const auto& [leaf, from] : of_leaf)
    for (std::uint32_t to = 0; to < ends; ++to) {
      path.clear();
      fabric.routes.AddPath(from, to, path);
      const bool over = std::ranges::count(path, channel) > 0;
      all += over ? 1 : 0;
      for (const ChannelId each : path) {
        ++flows[each];
        shared[each] += over ? 1 : 0;
      }
    }
  std::set<ChannelId> twins;
  for (const auto& [each, count] : shared)
    if (count == all && flows.at(each) == all) twins.insert(each);
  return twins;
}

// 1,024 hosts, 8,448 cables between switches. Prints how many are named. --gtest_random_seed=N:
// other cables and losses.
TEST(CableCampaign, OneBadCableOfThousandsIsNamedOrNone) {
  constexpr int kRuns = 12;
  constexpr std::uint32_t kRoundsMax = 10;
  int right = 0;
  int wrong = 0;
  int of_two = 0;  // One of two cables that carry the same traffic
  std::uint32_t rounds = 0;
  std::mt19937_64 random(7 + static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed)));
  const CableWorld healthy(
      Make(Pods{.pods = 4, .leaves = 16, .spines = 48, .cores = 96, .hosts = 16, .uplinks = 28}));
  const CableCover cover = CoverCables(healthy.fabric(), {}, 100'000, 1);
  const std::set<ChannelId> used = UsedChannels(healthy.fabric());
  for (int run = 0; run < kRuns; ++run) {
    CableWorld world = healthy;
    // Both directions carry traffic, so that each kind of fault has an effect.
    std::size_t cable = 0;
    do {
      cable = random() % world.cables();
    } while (!used.contains(world.ChannelOf(cable)) ||
             !used.contains(world.fabric().routes.Reverse(world.ChannelOf(cable))));
    world.Break(cable, run % 3 == 0 ? 1 : run % 3 == 1 ? 0.3 : 0.05, run % 2 == 0);
    v1::BlameReport report;
    rounds += RunCampaign(world, cover, kRoundsMax, random, report);
    int named = 0;
    for (const v1::Suspect& suspect : report.suspects()) {
      if (suspect.name() == world.BadName()) ++named;
      wrong += suspect.name() == world.BadName() ? 0 : 1;
    }
    right += named;
    if (named == 0 && TwinsOf(world.fabric(), world.ChannelOf(cable)).size() > 1) ++of_two;
  }
  std::printf(
      "%d of %d named, %d of two cables with the same traffic, %d wrong; %zu pairs in %zu rounds "
      "cover %zu of %zu cables, %.1f rounds with those that blame asked for\n",
      right, kRuns, of_two, wrong, PairsOf(cover), cover.rounds.size(), cover.passed, cover.cables,
      static_cast<double>(rounds) / kRuns);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(right + of_two, kRuns);
}

TEST(CableCampaign, APortThatFailsNowAndThenIsNoCable) {
  const CableWorld healthy(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  const CableCover cover = CoverCables(healthy.fabric(), {}, 100'000, 5);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    CableWorld world = healthy;
    world.BreakEndpoint(static_cast<std::uint32_t>(random() % 128), seed % 2 == 0 ? 1 : 0.3,
                        seed % 3 == 0 ? 0.8 : 0.5);
    v1::BlameReport report;
    RunCampaign(world, cover, 12, random, report);
    for (const v1::Suspect& suspect : report.suspects())
      EXPECT_EQ(suspect.kind(), v1::SUSPECT_KIND_PORT) << seed << suspect.ShortDebugString();
  }
}

TEST(CableCampaign, OfAHealthySubnetIsDecidedWhenEachCableIsPassed) {
  CableWorld world(Make(Pods{.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .uplinks = 4}));
  std::mt19937_64 random(1);
  v1::BlameReport report;
  RunCampaign(world, CoverCables(world.fabric(), {}, 100'000, 5), 20, random, report);
  EXPECT_THAT(UnpassedCables(world.fabric(), world.observations(), {}).names, IsEmpty());
  EXPECT_THAT(report.not_covered(), IsEmpty()) << report.ShortDebugString();
}

TEST(CableCampaign, SaysWhichCablesHaveNoProbeYet) {
  CableWorld world(Make(FatTree{.leaves = 4, .spines = 2, .hosts = 4}));
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> usable;  // Under two leaves
  for (std::uint32_t i = 0; i < world.fabric().endpoints.size(); ++i)
    if (world.fabric().endpoints[i].leaf == "leaf-1" ||
        world.fabric().endpoints[i].leaf == "leaf-2")
      usable.push_back(i);
  ASSERT_EQ(usable.size(), 8U);
  const auto other = std::ranges::find_if(usable, [&](std::uint32_t i) {
    return world.fabric().endpoints[i].leaf != world.fabric().endpoints[usable[0]].leaf;
  });
  world.Probe({{.from = usable[0], .to = *other}}, 1, random);
  const CablesLeft left = UnpassedCables(world.fabric(), world.observations(), usable);
  EXPECT_EQ(left.used, 4U);
  EXPECT_GT(left.names.size(), 0U);
  EXPECT_LT(left.names.size(), 4U);
  EXPECT_THAT(left.names[0], HasSubstr("spine-"));
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const Assessment assessment = analyzer.Assess(usable);
  EXPECT_FALSE(assessment.decided);
  const auto& gaps = assessment.report.not_covered();
  EXPECT_TRUE(std::ranges::any_of(gaps, [&](const v1::CoverageGap& gap) {
    return gap.text() == Format(
                             "{} of 4 cables between switches that routes of these ports use "
                             "were not passed: {}",
                             left.names.size(), ListSome(left.names, 8));
  })) << assessment.report.ShortDebugString();
}

}  // namespace
}  // namespace fabric::blame
