// When a campaign may end, and what it should probe next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

constexpr Layout kLayout{.nodes = 16, .rails = 1, .per_leaf = 4};

std::vector<Observation> After(std::uint32_t rounds) {
  Layout layout = kLayout;
  layout.rounds = rounds;
  return Healthy(layout);
}

TEST(Stand, IsDecidedOnceEveryPlaceWasSeenWithEnoughPartners) {
  const Fabric fabric = FabricOf(kLayout);
  const Standing early = Stand(fabric, After(2));
  EXPECT_FALSE(early.decided);
  EXPECT_THAT(early.open, ::testing::HasSubstr("has met 2 partners"));
  const Standing late = Stand(fabric, After(4));
  EXPECT_TRUE(late.decided) << late.open;
  EXPECT_EQ(late.report.state(), v1::BLAME_STATE_HEALTHY);
  EXPECT_THAT(late.next, ::testing::IsEmpty());
}

TEST(Stand, GoesOnWhileFewPacketsWereSent) {
  const auto few = With(
      After(4), [](const auto&) { return true; },
      [](Observation& seen) { seen.attempts = seen.attempts > 0 ? 100 : 0; });
  const Standing standing = Stand(FabricOf(kLayout), few);
  EXPECT_FALSE(standing.decided);
  EXPECT_THAT(standing.open, ::testing::HasSubstr("may lose 0.001"));
}

TEST(Stand, SendsSuspectsToPartnersThatAreKnownToBeGood) {
  const Fabric fabric = FabricOf(kLayout);
  const auto seen = With(
      After(3), [](const auto& one) { return Touches(one, 5) && one.round == 3; }, Dead);
  const Standing standing = Stand(fabric, seen);
  EXPECT_FALSE(standing.decided);
  EXPECT_EQ(standing.report.suspects_size(), 0) << Text(standing.report);
  ASSERT_FALSE(standing.next.empty()) << standing.open;
  std::set<std::uint32_t> taken;
  bool suspect_is_probed = false;
  for (const Wanted& pair : standing.next) {
    EXPECT_TRUE(taken.insert(pair.from).second);
    EXPECT_TRUE(taken.insert(pair.to).second);
    suspect_is_probed = suspect_is_probed || pair.from == 5 || pair.to == 5;
  }
  EXPECT_TRUE(suspect_is_probed);
}

TEST(Stand, UsesOnlyPlacesThatMayTakePart) {
  const auto seen = With(
      After(3), [](const auto& one) { return Touches(one, 5) && one.round == 3; }, Dead);
  const std::vector<std::uint32_t> usable = {0, 1, 2, 3, 5, 6, 7};
  for (const Wanted& pair : Stand(FabricOf(kLayout), seen, usable).next) {
    EXPECT_THAT(usable, ::testing::Contains(pair.from));
    EXPECT_THAT(usable, ::testing::Contains(pair.to));
  }
}

TEST(Stand, ADeadPortIsDecidedInAFewRoundsAndItsPartnersAreNot) {
  const auto dead = [](const auto& one) { return Touches(one, 5); };
  const Standing standing = Stand(FabricOf(kLayout), With(After(6), dead, Dead));
  EXPECT_TRUE(standing.decided) << standing.open;
  EXPECT_EQ(Text(standing.report), "PORT n15/mlx5_0/1 DEAD");
}

TEST(Stand, SaysWhichProbesTellTwoPortsAndTheirLeafApart) {
  const Layout layout{.nodes = 8, .rails = 1, .per_leaf = 2};
  const auto report =
      Judge(FabricOf(layout),
            With(
                Healthy(layout),
                [](const auto& seen) { return seen.from / 2 == 1 || seen.to / 2 == 1; }, Dead));
  ASSERT_EQ(report.undecided_size(), 1) << Text(report);
  ASSERT_FALSE(report.undecided(0).probes().empty());
  EXPECT_FALSE(report.undecided(0).probes(0).why().empty());
  EXPECT_FALSE(report.undecided(0).probes(0).to_node().empty());
}

}  // namespace
}  // namespace fabric::blame::testing
