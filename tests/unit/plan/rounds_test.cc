#include "daemon/plan/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"

namespace fabric::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<PortIndex> Ports(std::size_t count, PortIndex first = 0) {
  std::vector<PortIndex> ports(count);
  std::iota(ports.begin(), ports.end(), first);
  return ports;
}

using Met = std::map<std::pair<PortIndex, PortIndex>, int>;

// How often each two ports meet. Fails the test when a port is twice in one round, or a round has
// more pairs than it says.
Met Meetings(const Rounds& rounds) {
  Met met;
  std::uint64_t pairs = 0;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    std::set<PortIndex> busy;
    const std::vector<Pair> at = rounds.At(round);
    EXPECT_LE(at.size(), rounds.PairsAtMost(round)) << "round " << round;
    pairs += at.size();
    for (const Pair& pair : at) {
      EXPECT_TRUE(busy.insert(pair.from).second) << "round " << round;
      EXPECT_TRUE(busy.insert(pair.to).second) << "round " << round;
      ++met[std::minmax(pair.from, pair.to)];
    }
  }
  EXPECT_EQ(pairs, rounds.pairs());
  for (const auto& [pair, times] : met)
    EXPECT_EQ(times, 1) << pair.first << " and " << pair.second << " meet again";
  return met;
}

std::map<PortIndex, int> Partners(const Met& met) {
  std::map<PortIndex, int> partners;
  for (const auto& [pair, times] : met) {
    ++partners[pair.first];
    ++partners[pair.second];
  }
  return partners;
}

Rounds Of(Rounds::Schedule schedule) {
  Rounds rounds;
  rounds.Add(std::move(schedule));
  return rounds;
}

TEST(Circle, LetsEveryTwoMeetOnceInTheFewestRounds) {
  for (std::size_t count = 2; count <= 65; ++count) {
    SCOPED_TRACE(count);
    const Rounds rounds = Of(Circle(Ports(count)));
    EXPECT_EQ(rounds.size(), count % 2 == 0 ? count - 1 : count);
    EXPECT_EQ(Meetings(rounds).size(), count * (count - 1) / 2);
  }
}

TEST(Circle, Of1024PortsTakes1023Rounds) {
  const Rounds rounds = Of(Circle(Ports(1024)));
  EXPECT_EQ(rounds.size(), 1023u);
  EXPECT_EQ(Meetings(rounds).size(), 1024u * 1023 / 2);
  for (std::size_t round = 0; round < rounds.size(); ++round)
    ASSERT_EQ(rounds.At(round).size(), 512u) << "nobody idles";
}

TEST(Circle, OfNobodyOrOneHasNoRounds) {
  EXPECT_TRUE(Of(Circle(Ports(0))).empty());
  EXPECT_TRUE(Of(Circle(Ports(1))).empty());
  EXPECT_EQ(Of(Circle(Ports(1))).pairs(), 0u);
}

TEST(Circle, LeavesOutPairsOfOneGroup) {
  for (std::size_t count = 2; count <= 24; ++count) {
    SCOPED_TRACE(count);
    std::vector<std::uint32_t> groups;
    for (std::size_t i = 0; i < count; ++i) groups.push_back(static_cast<std::uint32_t>(i % 3));
    std::size_t expected = 0;
    for (std::size_t a = 0; a < count; ++a)
      for (std::size_t b = a + 1; b < count; ++b) expected += groups[a] != groups[b];
    const Met met = Meetings(Of(Circle(Ports(count), groups)));
    EXPECT_EQ(met.size(), expected);
    for (const auto& [pair, times] : met) EXPECT_NE(groups[pair.first], groups[pair.second]);
  }
  EXPECT_TRUE(Of(Circle(Ports(4), std::vector<std::uint32_t>{7, 7, 7, 7})).empty());
}

TEST(Circle, OfChosenRoundsGivesEachPortAsManyPartners) {
  for (std::size_t count = 6; count <= 41; ++count) {
    for (std::uint32_t degree = 1; degree <= 5; ++degree) {
      SCOPED_TRACE(Format("{} of {}", degree, count));
      Circle circle(Ports(count));
      std::vector<std::uint32_t> chosen;
      for (std::uint32_t round = 0; round < degree; ++round) chosen.push_back(degree - 1 - round);
      circle.Choose(chosen);
      circle.PairIdle();
      const Rounds rounds = Of(std::move(circle));
      EXPECT_LE(rounds.size(), degree + count % 2);
      const auto partners = Partners(Meetings(rounds));
      std::size_t short_of_one = 0;
      for (const auto& [port, number] : partners) {
        EXPECT_LE(number, static_cast<int>(degree));
        EXPECT_GE(number, static_cast<int>(degree) - 1);
        short_of_one += number < static_cast<int>(degree);
      }
      if (count % 2 == 0) {
        EXPECT_EQ(short_of_one, 0u);
      } else {
        EXPECT_LE(short_of_one, degree % 2 + 2u) << "most of those that idled met later";
      }
    }
  }
}

TEST(CrossRails, LetPortsOfDifferentRailsAndNodesMeetOnce) {
  for (std::size_t rails = 2; rails <= 5; ++rails) {
    for (std::size_t nodes = 2; nodes <= 6; ++nodes) {
      SCOPED_TRACE(Format("{} rails, {} nodes", rails, nodes));
      std::vector<std::vector<PortIndex>> rows;
      for (std::size_t rail = 0; rail < rails; ++rail)
        rows.push_back(Ports(nodes, static_cast<PortIndex>(rail * nodes)));
      const Rounds rounds = Of(CrossRails(rows));
      EXPECT_EQ(rounds.size(), (rails - 1 + rails % 2) * (nodes - 1));
      const Met met = Meetings(rounds);
      EXPECT_EQ(met.size(), rails * (rails - 1) / 2 * nodes * (nodes - 1));
      for (const auto& [pair, times] : met) {
        EXPECT_NE(pair.first / nodes, pair.second / nodes) << "one rail";
        EXPECT_NE(pair.first % nodes, pair.second % nodes) << "one node";
      }
    }
  }
}

TEST(CrossRails, DoWithoutThePortsThatAreMissing) {
  const Met met = Meetings(Of(CrossRails({{0, 1, kNoPort}, {kNoPort, 2, 3}})));
  std::vector<std::pair<PortIndex, PortIndex>> pairs;
  for (const auto& [pair, times] : met) pairs.push_back(pair);
  EXPECT_THAT(pairs, ElementsAre(std::pair(0u, 2u), std::pair(0u, 3u), std::pair(1u, 3u)));
  EXPECT_TRUE(Of(CrossRails({{0, 1, 2}})).empty()) << "one rail";
  EXPECT_TRUE(Of(CrossRails({{0}, {1}})).empty()) << "one node";
}

TEST(Star, HasTheHubInEachPair) {
  const Rounds outwards = Of(Star(7, {1, 2, 3}, Star::Towards::kOthers));
  EXPECT_EQ(outwards.size(), 3u);
  for (std::size_t round = 0; round < 3; ++round) EXPECT_EQ(outwards.At(round)[0].from, 7u);
  EXPECT_EQ(Meetings(outwards).size(), 3u);
  const Rounds inwards = Of(Star(7, {1, 2, 3}, Star::Towards::kHub));
  for (std::size_t round = 0; round < 3; ++round) EXPECT_EQ(inwards.At(round)[0].to, 7u);
}

TEST(Ring, GoesFromEachToTheNext) {
  for (std::size_t count = 3; count <= 12; ++count) {
    SCOPED_TRACE(count);
    const Rounds rounds = Of(Ring(Ports(count)));
    EXPECT_EQ(rounds.size(), count % 2 == 0 ? 2u : 3u);
    const Met met = Meetings(rounds);
    EXPECT_EQ(met.size(), count);
    const auto last = static_cast<PortIndex>(count - 1);
    EXPECT_TRUE(met.contains({0, last}));
    for (PortIndex port = 0; port < last; ++port) EXPECT_TRUE(met.contains({port, port + 1}));
  }
  EXPECT_THAT(Of(Ring(Ports(2))).At(0), ElementsAre(Pair{0, 1}));
  EXPECT_TRUE(Of(Ring(Ports(1))).empty());
}

TEST(Rounds, OfSeveralRailsRunBesideEachOther) {
  Rounds rounds;
  rounds.Add(Circle(Ports(4)));
  rounds.Add(Circle(Ports(3, 4)));
  rounds.Add(Star(7, {8}, Star::Towards::kOthers));
  EXPECT_EQ(rounds.size(), 3u);
  EXPECT_EQ(rounds.At(0).size(), 4u);
  EXPECT_EQ(rounds.At(1).size(), 3u) << "the shortest is over";
  EXPECT_THAT(rounds.At(3), IsEmpty());
  EXPECT_EQ(Meetings(rounds).size(), 6u + 3 + 1);
}

}  // namespace
}  // namespace fabric::plan
