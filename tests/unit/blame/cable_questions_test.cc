// Pairs that distinguish the parts on the paths of lost packets.
#include "daemon/blame/cable_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "daemon/blame/analyzer.h"
#include "tests/unit/blame/cable_world.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::blame {
namespace {

using subnet::testing::FatTree;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Observation Lost(std::uint32_t from, std::uint32_t to, std::uint32_t round,
                 std::uint32_t lost = 60) {
  return {.from = from, .to = to, .round = round, .attempts = 200, .failures = lost};
}

std::vector<ChannelId> PathsOf(const Fabric& fabric, std::uint32_t a, std::uint32_t b) {
  std::vector<ChannelId> channels;
  fabric.routes.AddPath(a, b, channels);
  fabric.routes.AddPath(b, a, channels);
  return channels;
}

TEST(PairsForSuspects, DividesTheChannelsOfALostProbe) {
  const CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  const Fabric& fabric = world.fabric();
  const std::vector<Observation> seen = {Lost(0, 127, 1)};
  const std::vector<ProbeRequest> pairs = PairsForSuspects(fabric, seen, {}, 1);
  const std::vector<ChannelId> bad = PathsOf(fabric, 0, 127);
  std::set<std::uint32_t> busy;
  std::set<ChannelId> asked;
  for (const ProbeRequest& pair : pairs) {
    EXPECT_TRUE(busy.insert(pair.from).second);
    EXPECT_TRUE(busy.insert(pair.to).second);
    EXPECT_NE(fabric.endpoints[pair.from].node, fabric.endpoints[pair.to].node);
    for (const ChannelId channel : PathsOf(fabric, pair.from, pair.to))
      if (std::ranges::count(bad, channel) > 0) asked.insert(channel);
  }
  EXPECT_EQ(asked, std::set<ChannelId>(bad.begin(), bad.end())) << "each has a pair";
  EXPECT_TRUE(busy.contains(0));
  EXPECT_TRUE(busy.contains(127));
  EXPECT_LT(pairs.size(), 64U);
  EXPECT_EQ(PairsForSuspects(fabric, seen, {}, 1), pairs) << "same seed";
}

TEST(PairsForSuspects, TakesUsableEndpointsOnly) {
  const CableWorld world(Make(FatTree{.leaves = 4, .spines = 4, .hosts = 8}));
  const std::vector<Observation> seen = {Lost(0, 31, 1)};
  const std::vector<std::uint32_t> usable = {0, 1, 8, 9, 16, 30};
  const std::vector<ProbeRequest> pairs = PairsForSuspects(world.fabric(), seen, usable, 1);
  EXPECT_FALSE(pairs.empty());
  for (const ProbeRequest& pair : pairs) {
    EXPECT_TRUE(std::ranges::binary_search(usable, pair.from)) << pair.from;
    EXPECT_TRUE(std::ranges::binary_search(usable, pair.to)) << pair.to;
  }
}

TEST(PairsForSuspects, AsksNothingAboutChanceAndWithoutRoutes) {
  const CableWorld world(Make(FatTree{.leaves = 4, .spines = 4, .hosts = 8}));
  const Fabric& fabric = world.fabric();
  EXPECT_THAT(PairsForSuspects(fabric, {}, {}, 1), IsEmpty());
  std::vector<Observation> seen = {Lost(0, 31, 1, 1)};
  for (std::uint32_t round = 2; round < 8; ++round)
    for (std::uint32_t from = 0; from < 32; ++from)
      for (std::uint32_t to = 0; to < from; ++to) seen.push_back(Lost(from, to, round, 0));
  EXPECT_THAT(PairsForSuspects(fabric, seen, {}, 1), IsEmpty()) << "one packet of many";
  Fabric without = fabric;
  without.routes = {};
  EXPECT_THAT(PairsForSuspects(without, {{Lost(0, 31, 1)}}, {}, 1), IsEmpty());
}

// Three switches in a row: all traffic between the ends uses both cables.
TEST(CableFaults, PartsWithTheSameTrafficAreOneQuestion) {
  subnet::testing::TestSubnet made;
  const std::uint32_t left = made.AddSwitch("leaf-1");
  const std::uint32_t middle = made.AddSwitch("middle");
  const std::uint32_t right = made.AddSwitch("leaf-2");
  made.Connect(left, middle);
  made.Connect(middle, right);
  for (int i = 1; i <= 16; ++i)
    made.Connect(i <= 8 ? left : right, made.AddHost(Format("gpu-{} mlx5_0", i + 10)));
  CableWorld world(made);
  world.Break(0, 0.3, true);
  std::mt19937_64 random(1);
  for (std::uint32_t round = 1; round <= 6; ++round) {
    std::vector<ProbeRequest> pairs;
    for (std::uint32_t i = 0; i < 8; ++i)
      pairs.push_back(round % 2 == 0 ? ProbeRequest{.from = i, .to = 8 + (i + round) % 8}
                                     : ProbeRequest{.from = i / 4 * 8 + i % 4 * 2,
                                                    .to = i / 4 * 8 + i % 4 * 2 + 1});
    world.Probe(pairs, round, random);
  }
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const v1::BlameReport report = analyzer.Judge();
  EXPECT_THAT(report.suspects(), IsEmpty()) << report.ShortDebugString();
  ASSERT_EQ(report.undecided_size(), 1) << report.ShortDebugString();
  std::vector<std::string> names;
  for (const v1::Suspect& suspect : report.undecided(0).suspects()) names.push_back(suspect.name());
  EXPECT_THAT(names, UnorderedElementsAre("switch middle", "cable leaf-1 port 1 - middle port 1",
                                          "cable middle port 2 - leaf-2 port 1"));
}

}  // namespace
}  // namespace fabric::blame
