// A few scenarios of each kind: what bin/sim_blame plays a thousand of.
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/sim/blame_scenario.h"

namespace fabric::sim {
namespace {

const Kind& Named(std::string_view name) {
  for (const Kind& kind : Kinds())
    if (kind.name == name) return kind;
  ADD_FAILURE() << "no kind " << name;
  return Kinds().front();
}

TEST(BlameSim, NamesEachKindOfFaultAndNothingElse) {
  constexpr std::uint64_t kSeeds = 4;
  const Stage stage({.name = "32x2", .nodes = 32, .rails = 2, .ports_per_leaf = 8, .spines = 4});
  std::uint32_t faults = 0;
  std::uint32_t named = 0;
  for (const Kind& kind : Kinds()) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Outcome outcome = Play(stage, kind, {.seed = seed});
      EXPECT_EQ(outcome.suspects, outcome.right)
          << Format("{} seed {}\n{}", kind.name, seed, outcome.text);
      if (kind.may_stay_open) continue;
      faults += outcome.faults;
      named += outcome.named;
    }
  }
  EXPECT_GE(named, 0.95 * faults) << "of " << faults;
}

// Of the accusations with a confidence of 0.9 to 0.99 at least nine of ten are right, and no bin
// above 0.9 is more than 0.05 overconfident.
TEST(BlameSim, ConfidenceIsHowOftenAnAccusationIsRight) {
  constexpr std::uint64_t kSeeds = 12;
  constexpr double kBrierMax = 0.01;
  constexpr double kErrorMax = 0.05;
  constexpr double kErrorSureMax = 0.01;
  constexpr double kWorstMax = 0.99;  // Confidence of the surest wrong accusation
  const Stage stage({.name = "24x2", .nodes = 24, .rails = 2, .ports_per_leaf = 6, .spines = 4});
  Reliability reliability;
  std::string wrong;
  for (const Kind& kind : Kinds()) {
    for (std::uint64_t seed = 101; seed <= 100 + kSeeds; ++seed) {
      const Outcome outcome = Play(stage, kind, {.seed = seed});
      reliability.Add(outcome.accusations);
      if (outcome.suspects > outcome.right)
        wrong += Format("{} seed {}\n{}", kind.name, seed, outcome.text);
    }
  }
  const Reliability::Bin unsure = reliability.Between(0.9, 0.99);
  EXPECT_GT(reliability.Between(0.99, 2).all, 100U) << reliability.Text();
  EXPECT_GE(unsure.right, 0.9 * unsure.all) << reliability.Text() << wrong;
  EXPECT_LE(unsure.Error(), kErrorMax) << reliability.Text() << wrong;
  EXPECT_LE(reliability.Between(0.99, 2).Error(), kErrorSureMax) << reliability.Text() << wrong;
  EXPECT_LE(reliability.Brier(), kBrierMax) << reliability.Text() << wrong;
  EXPECT_LE(reliability.worst, kWorstMax) << reliability.Text() << wrong;
}

// Losses of one period of congestion are one event, and a flow keeps its path: neither makes an
// accusation surer each time that it is seen again.
TEST(BlameSim, CongestionThatComesAndGoesAccusesNoOtherPart) {
  constexpr std::uint64_t kSeeds = 100;
  const Stage stage({.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4});
  Reliability reliability;
  std::uint32_t wrong = 0, faults = 0, named = 0;
  std::string text;
  for (std::uint64_t seed = 9001; seed <= 9000 + kSeeds; ++seed) {
    const Outcome outcome = Play(stage, Named("uplink_congested_at_times"), {.seed = seed});
    reliability.Add(outcome.accusations);
    wrong += outcome.suspects - outcome.right;
    faults += outcome.faults;
    named += outcome.named;
    if (outcome.suspects > outcome.right) text += Format("seed {}\n{}", seed, outcome.text);
  }
  EXPECT_EQ(wrong, 0U) << text;
  EXPECT_EQ(reliability.worst, 0) << reliability.Text();
  EXPECT_GE(named, 0.75 * faults) << "of " << faults;
  EXPECT_LE(reliability.Brier(), 0.005) << reliability.Text();
}

// All machines are slow for one to two seconds: the pairs of that time share a part by chance.
TEST(BlameSim, SlowSecondsOfAllMachinesAccuseNoPart) {
  constexpr std::uint64_t kSeeds = 60;
  const Stage stage({.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4});
  for (const char* const name : {"healthy_slow_seconds", "healthy_slow_seconds_one_by_one"}) {
    std::uint32_t open = 0;
    for (std::uint64_t seed = 10001; seed <= 10000 + kSeeds; ++seed) {
      const Outcome outcome = Play(stage, Named(name), {.seed = seed});
      EXPECT_EQ(outcome.suspects, 0U) << name << " seed " << seed << "\n" << outcome.text;
      open += outcome.decided ? 0 : 1;
    }
    EXPECT_LE(open, kSeeds / 20) << name;
  }
}

// Nine nodes under three leaves: few paths distinguish the suspects. An accusation is right, or the
// result is undecided.
TEST(BlameSim, SaysUndecidedWhereASmallFabricCannotShowTheCause) {
  constexpr std::uint64_t kSeeds = 20;
  constexpr double kWrongMax = 0.005;  // Of all accusations
  constexpr double kRecallMin = 0.95;  // Of kinds with one fault
  constexpr double kWorstMax = 0.99;   // Confidence of the surest wrong accusation
  const Stage stage({.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4});
  Reliability reliability;
  std::uint32_t suspects = 0, right = 0, faults = 0, named = 0;
  std::string wrong;
  for (const Kind& kind : Kinds()) {
    for (std::uint64_t seed = 401; seed <= 400 + kSeeds; ++seed) {
      const Outcome outcome = Play(stage, kind, {.seed = seed});
      reliability.Add(outcome.accusations);
      suspects += outcome.suspects;
      right += outcome.right;
      if (outcome.suspects > outcome.right)
        wrong += Format("{} seed {}\n{}", kind.name, seed, outcome.text);
      if (kind.name == "healthy_ecmp_polarised") {
        EXPECT_EQ(outcome.suspects, 0U) << "seed " << seed << "\n" << outcome.text;
      }
      if (kind.may_stay_open || outcome.faults != 1) continue;
      faults += outcome.faults;
      named += outcome.named;
    }
  }
  EXPECT_LE(suspects - right, kWrongMax * suspects) << reliability.Text() << wrong;
  EXPECT_LE(reliability.worst, kWorstMax) << reliability.Text() << wrong;
  EXPECT_GE(named, kRecallMin * faults) << "of " << faults;
  EXPECT_LE(reliability.Brier(), 0.01) << reliability.Text() << wrong;
}

struct Regression {
  Shape shape;
  const char* kind;
  std::uint64_t seed;
  const char* what;
  bool undecided = false;  // The evidence does not suffice for a name.
};

const Shape kTwoRails = {
    .name = "64x2", .nodes = 64, .rails = 2, .ports_per_leaf = 16, .spines = 4};
const Shape kNine = {.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4};
const Shape kOneRail = {
    .name = "96x1", .nodes = 96, .rails = 1, .ports_per_leaf = 16, .spines = 16};

// Scenarios in which somebody else was once named, or a direction that is not so.
const Regression kRegressions[] = {
    {kTwoRails, "port_flapping", 8,
     "each time it was away it was probed with the same partner: a bad pair"},
    {kOneRail, "uplink_lossy", 100, "the few flows that were slow by chance went one way"},
    {kOneRail, "uplink_lossy", 181, "the same"},
    {kTwoRails, "two_unequal_uplinks", 6, "one spine explained the flows of both uplinks"},
    {kNine, "two_unequal_uplinks", 31, "the same, with all flows of three leaves", true},
    {kNine, "two_unequal_uplinks", 41, "the other end of the only flows that were seen", true},
    {kOneRail, "spine_small_mtu", 10006, "a burst at one pair counted against the spine"},
    {kNine, "healthy_ecmp_polarised", 15, "flows that share paths by chance pass a leaf of three"},
    {kNine, "healthy_controller_loaded", 15, "three late probes are chance among nine hosts"},
};

TEST(BlameSim, NamesNobodyElseWhereItOnceDid) {
  for (const Regression& one : kRegressions) {
    const Stage stage(one.shape);
    const Outcome outcome = Play(stage, Named(one.kind), {.seed = one.seed});
    EXPECT_EQ(outcome.suspects, outcome.right) << one.what << "\n" << outcome.text;
    if (one.undecided) continue;
    EXPECT_EQ(outcome.named, outcome.faults) << one.what << "\n" << outcome.text;
  }
}

// Two ports are the leaf, its ways out, or two bad ports: nobody can tell.
TEST(BlameSim, DoesNotPretendWithTwoPortsUnderALeaf) {
  const Stage stage({.name = "24x1", .nodes = 24, .rails = 1, .ports_per_leaf = 2, .spines = 4});
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Outcome outcome = Play(stage, Named("leaf_dead"), {.seed = seed});
    EXPECT_EQ(outcome.suspects, 0U) << outcome.text;
    EXPECT_EQ(outcome.in_a_group, 1U) << outcome.text;
  }
}

// A dead path of a leaf is a dead path of a spine until other leaves are seen: they are asked for.
TEST(BlameSim, TellsAPathOfALeafFromASpineInAFewRounds) {
  const Stage stage({.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4});
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    const Outcome outcome = Play(stage, Named("uplink_dead"), {.seed = seed});
    EXPECT_EQ(outcome.named, 1U) << "seed " << seed << "\n" << outcome.text;
    EXPECT_EQ(outcome.right, outcome.suspects) << "seed " << seed << "\n" << outcome.text;
    EXPECT_LE(outcome.named_at, 10U) << "seed " << seed << "\n" << outcome.text;
  }
}

TEST(BlameSim, ARunIsItsSeed) {
  const Stage stage({.name = "32x2", .nodes = 32, .rails = 2, .ports_per_leaf = 8, .spines = 4});
  const Kind& kind = Named("port_lossy");
  const Outcome first = Play(stage, kind, {.seed = 7});
  EXPECT_EQ(first.text, Play(stage, kind, {.seed = 7}).text);
  EXPECT_NE(first.text, Play(stage, kind, {.seed = 8}).text);
}

TEST(BlameSim, FindsABadPortInFewOfManyRounds) {
  const Stage stage({.name = "256x1", .nodes = 256, .rails = 1, .ports_per_leaf = 32, .spines = 8});
  for (const char* const name : {"port_dead", "port_lossy"}) {
    const Outcome outcome = Play(stage, Named(name), {.seed = 3});
    EXPECT_EQ(outcome.named, 1U) << outcome.text;
    EXPECT_EQ(outcome.right, outcome.suspects) << outcome.text;
    EXPECT_LE(outcome.named_at, 20U) << "of 255 rounds";
  }
}

}  // namespace
}  // namespace fabric::sim
