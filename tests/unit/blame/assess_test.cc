// When a campaign may end, and what it should probe next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>

#include "daemon/blame/analyzer.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

constexpr Layout kLayout{.nodes = 16, .rails = 1, .per_leaf = 4};

std::vector<Observation> After(std::uint32_t rounds) {
  Layout layout = kLayout;
  layout.rounds = rounds;
  return Healthy(layout);
}

TEST(Assess, IsDecidedOnceEveryPlaceWasSeenWithEnoughPartners) {
  const Fabric fabric = FabricOf(kLayout);
  const Assessment early = Assess(fabric, After(2));
  EXPECT_FALSE(early.decided);
  EXPECT_THAT(early.open_question, ::testing::HasSubstr("was probed with 2 partners"));
  const Assessment late = Assess(fabric, After(4));
  EXPECT_TRUE(late.decided) << late.open_question;
  EXPECT_EQ(late.report.state(), v1::BLAME_STATE_HEALTHY);
  EXPECT_THAT(late.next, ::testing::IsEmpty());
}

TEST(Assess, GoesOnWhileFewPacketsWereSent) {
  const auto few = With(
      After(4), [](const auto&) { return true; },
      [](Observation& seen) { seen.attempts = seen.attempts > 0 ? 100 : 0; });
  const Assessment assessment = Assess(FabricOf(kLayout), few);
  EXPECT_FALSE(assessment.decided);
  EXPECT_THAT(assessment.open_question, ::testing::HasSubstr("may lose 0.001"));
}

TEST(Assess, SendsSuspectsToPartnersThatAreKnownToBeGood) {
  const Fabric fabric = FabricOf(kLayout);
  const auto seen = With(
      After(3), [](const auto& one) { return Touches(one, 5) && one.round == 3; }, Dead);
  const Assessment assessment = Assess(fabric, seen);
  EXPECT_FALSE(assessment.decided);
  EXPECT_EQ(assessment.report.suspects_size(), 0) << Text(assessment.report);
  ASSERT_FALSE(assessment.next.empty()) << assessment.open_question;
  std::set<std::uint32_t> taken;
  bool suspect_is_probed = false;
  for (const ProbeRequest& pair : assessment.next) {
    EXPECT_TRUE(taken.insert(pair.from).second);
    EXPECT_TRUE(taken.insert(pair.to).second);
    suspect_is_probed = suspect_is_probed || pair.from == 5 || pair.to == 5;
  }
  EXPECT_TRUE(suspect_is_probed);
}

TEST(Assess, UsesOnlyPlacesThatMayTakePart) {
  const auto seen = With(
      After(3), [](const auto& one) { return Touches(one, 5) && one.round == 3; }, Dead);
  const std::vector<std::uint32_t> usable = {0, 1, 2, 3, 5, 6, 7};
  for (const ProbeRequest& pair : Assess(FabricOf(kLayout), seen, usable).next) {
    EXPECT_THAT(usable, ::testing::Contains(pair.from));
    EXPECT_THAT(usable, ::testing::Contains(pair.to));
  }
}

TEST(Assess, ADeadPortIsDecidedInAFewRoundsAndItsPartnersAreNot) {
  const auto dead = [](const auto& one) { return Touches(one, 5); };
  const Assessment assessment = Assess(FabricOf(kLayout), With(After(6), dead, Dead));
  EXPECT_TRUE(assessment.decided) << assessment.open_question;
  EXPECT_EQ(Text(assessment.report), "PORT n15/mlx5_0/1 TOTAL_LOSS");
}

TEST(Assess, SaysWhichProbesTellTwoPortsAndTheirLeafApart) {
  const Layout layout{.nodes = 8, .rails = 1, .per_leaf = 2};
  const auto report =
      Judge(FabricOf(layout),
            With(
                Healthy(layout),
                [](const auto& seen) { return seen.from / 2 == 1 || seen.to / 2 == 1; }, Dead));
  ASSERT_EQ(report.undecided_size(), 1) << Text(report);
  ASSERT_FALSE(report.undecided(0).probes().empty());
  EXPECT_FALSE(report.undecided(0).probes(0).reason().empty());
  EXPECT_FALSE(report.undecided(0).probes(0).to_node().empty());
}

// Two leaves of four, and only pairs of one with the other: the leaf or its ways out. What it asks
// for tells them apart.
TEST(Assess, TheProbesThatItAsksForDecide) {
  const Layout layout{.nodes = 12, .rails = 1, .per_leaf = 4};
  const auto leaf = [](std::uint32_t endpoint) { return endpoint / 4; };
  const auto across = [&](const Observation& seen) { return leaf(seen.from) != leaf(seen.to); };
  const auto of_leaf = [&](const Observation& seen) {
    return leaf(seen.from) == 1 || leaf(seen.to) == 1;
  };
  for (const bool whole_leaf : {true, false}) {
    const auto bad = [&](const Observation& seen) {
      return of_leaf(seen) && (whole_leaf || across(seen));
    };
    std::vector<Observation> seen = With(Healthy(layout), bad, Dead);
    std::erase_if(seen, [&](const Observation& one) {
      return one.round > 6 || (of_leaf(one) && !across(one));
    });
    const Fabric fabric = FabricOf(layout);
    Assessment assessment = Assess(fabric, seen);
    EXPECT_EQ(assessment.report.state(), v1::BLAME_STATE_UNDECIDED) << Text(assessment.report);
    for (std::uint32_t round = 7; round < 15 && assessment.report.undecided_size() > 0; ++round) {
      ASSERT_FALSE(assessment.next.empty()) << assessment.open_question;
      for (const ProbeRequest& pair : assessment.next) {
        Observation one{.from = pair.from, .to = pair.to, .round = round, .attempts = 1000};
        if (bad(one)) Dead(one);
        seen.push_back(one);
      }
      assessment = Assess(fabric, seen);
    }
    EXPECT_EQ(Text(assessment.report),
              whole_leaf ? "LEAF leaf-0-1 TOTAL_LOSS" : "UPLINK leaf-0-1 uplinks TOTAL_LOSS");
  }
}

// A bad port and the leaf under which it is alone: however often they are probed they look the
// same.
TEST(Assess, EndsWhereMoreRoundsWouldNotTell) {
  const Layout layout{.nodes = 12, .rails = 1, .per_leaf = 1};
  const auto dead = [](const auto& one) { return Touches(one, 2); };
  const auto after = [&](std::uint32_t rounds) {
    Layout until = layout;
    until.rounds = rounds;
    return Assess(FabricOf(layout), With(Healthy(until), dead, Dead));
  };
  EXPECT_FALSE(after(4).decided);
  const Assessment assessment = after(9);
  EXPECT_TRUE(assessment.decided) << assessment.open_question;
  EXPECT_THAT(assessment.open_question, ::testing::HasSubstr("more rounds would not help"));
  EXPECT_EQ(assessment.report.state(), v1::BLAME_STATE_UNDECIDED);
  EXPECT_EQ(assessment.report.suspects_size(), 0) << Text(assessment.report);
}

// What a few have yet to show is probed without the others, whose noise would keep it open.
TEST(Assess, AsksForThoseAloneOfWhomTooLittleWasSeen) {
  const Layout layout{.nodes = 32, .rails = 1, .per_leaf = 8, .rounds = 4};
  const auto seen = With(
      Healthy(layout), [](const auto& one) { return Touches(one, 5); },
      [](Observation& one) { one.attempts /= 10; });
  const Assessment assessment = Assess(FabricOf(layout), seen);
  EXPECT_FALSE(assessment.decided);
  EXPECT_THAT(assessment.open_question, ::testing::HasSubstr("n15/mlx5_0/1 may lose 0.001"));
  ASSERT_EQ(assessment.next.size(), 1U);
  EXPECT_EQ(assessment.next[0].from, 5U);
  EXPECT_THAT(Assess(FabricOf(kLayout), After(1)).next, ::testing::IsEmpty())
      << "the plan goes on where all have to be seen";
}

// The one that it met longest ago; and a pair of the newest round only where there is no other.
TEST(Assess, AsksForOtherPartnersThanInTheNewestRound) {
  const Layout layout{.nodes = 32, .rails = 1, .per_leaf = 8, .rounds = 4};
  const auto seen = With(
      Healthy(layout), [](const auto& one) { return Touches(one, 5); },
      [](Observation& one) { one.attempts /= 10; });
  std::map<std::uint32_t, std::uint32_t> partners;  // By round
  for (const Observation& one : seen)
    if (Touches(one, 5)) partners[one.round] = one.from == 5 ? one.to : one.from;
  const auto request = [&](std::vector<std::uint32_t> usable) {
    usable.push_back(5);
    return Assess(FabricOf(layout), seen, usable);
  };
  const auto any = request({partners.at(4), partners.at(2), partners.at(3)});
  EXPECT_FALSE(any.next_already_tried);
  EXPECT_THAT(any.next, ::testing::ElementsAre(ProbeRequest{5, partners.at(2)}));
  const auto newest = request({partners.at(4)});
  EXPECT_TRUE(newest.next_already_tried);
  EXPECT_THAT(newest.next, ::testing::ElementsAre(ProbeRequest{5, partners.at(4)}));
}

// One path of a leaf, or one of a spine: only pairs of this leaf were probed, which may have more
// ports than a round takes.
class LeafOrSpine : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(LeafOrSpine, OtherLeavesAreAsked) {
  const std::uint32_t per_leaf = GetParam();
  const Layout layout{.nodes = 3 * per_leaf, .rails = 1, .per_leaf = per_leaf};
  const auto leaf = [&](std::uint32_t endpoint) { return endpoint / per_leaf; };
  const auto of_first = [&](const Observation& seen) {
    return leaf(seen.from) == 0 || leaf(seen.to) == 0;
  };
  const auto bad = [&](const Observation& seen) {
    return of_first(seen) && leaf(seen.from) != leaf(seen.to) && seen.flow_label == 1;
  };
  std::vector<Observation> seen = With(Healthy(layout), bad, Dead);
  std::erase_if(seen, [&](const Observation& one) {
    return leaf(one.from) != leaf(one.to) && !of_first(one);
  });
  const Assessment assessment = Assess(FabricOf(layout), seen);
  ASSERT_EQ(assessment.report.state(), v1::BLAME_STATE_UNDECIDED) << Text(assessment.report);
  EXPECT_THAT(Text(assessment.report), ::testing::HasSubstr("SPINE"));
  EXPECT_TRUE(std::any_of(assessment.next.begin(), assessment.next.end(),
                          [&](const ProbeRequest& pair) {
                            return leaf(pair.from) != 0 && leaf(pair.to) != 0 &&
                                   leaf(pair.from) != leaf(pair.to);
                          }))
      << Text(assessment.report);
}

// Flows of two leaves of six are bad: two paths, or one spine whose other flows were not seen.
TEST(Assess, TwoUplinksAreNamedOnlyWhenOtherLeavesShowThatTheSpineIsWell) {
  const auto report = [](std::uint32_t rounds) {
    const Layout layout{.nodes = 24, .rails = 1, .per_leaf = 4, .rounds = rounds};
    const Fabric fabric = FabricOf(layout);
    const auto of_two = [](const Observation& seen) {
      const auto under = [](std::uint32_t node) { return node / 4 == 0 || node / 4 == 4; };
      return seen.flow_label == 1 && seen.from / 4 != seen.to / 4 &&
             (under(seen.from) || under(seen.to));
    };
    return Text(Judge(fabric, With(Healthy(layout), of_two, Dead)));
  };
  EXPECT_THAT(report(2), ::testing::HasSubstr("SPINE a spine")) << report(2);
  EXPECT_THAT(report(2), ::testing::Not(::testing::HasSubstr("TOTAL_LOSS"))) << report(2);
  EXPECT_EQ(report(16),
            "UPLINK leaf-0-0 uplinks, one path of about 5 TOTAL_LOSS; "
            "UPLINK leaf-0-4 uplinks, one path of about 4 TOTAL_LOSS");
}

INSTANTIATE_TEST_SUITE_P(Assess, LeafOrSpine, ::testing::Values(3, 24));

// What is bad now, and has been for less than a host pauses.
TEST(Assess, WaitsUntilAPauseWouldBeOver) {
  const auto after = [](double apart_s) {
    const auto seen = With(
        After(6), [](const auto& one) { return Touches(one, 5); }, Dead);
    return Assess(FabricOf(kLayout), Apart(seen, apart_s));
  };
  const Assessment early = after(0.3);
  EXPECT_FALSE(early.decided);
  EXPECT_THAT(early.open_question, ::testing::HasSubstr("n15/mlx5_0/1 may have paused"));
  EXPECT_NEAR(early.wait_s, 2 - 5 * 0.3, 1e-6);
  EXPECT_TRUE(std::any_of(early.next.begin(), early.next.end(), [](const ProbeRequest& pair) {
    return pair.from == 5 || pair.to == 5;
  })) << early.open_question;
  const Assessment late = after(0.7);
  EXPECT_EQ(late.wait_s, 0);
  EXPECT_EQ(Text(late.report), "PORT n15/mlx5_0/1 TOTAL_LOSS");
}

// A slow host is watched as its ports are.
TEST(Assess, SendsThePortsOfASuspiciousHostToOthers) {
  const Layout layout{.nodes = 16, .rails = 2, .per_leaf = 4, .rounds = 4};
  const auto seen = With(
      Healthy(layout),
      [](const auto& one) { return one.round == 4 && (one.from / 2 == 5 || one.to / 2 == 5); },
      [](Observation& one) {
        if (one.attempts > 0) Lose(one, 0.05);
      });
  const Assessment assessment = Assess(FabricOf(layout), seen);
  EXPECT_FALSE(assessment.decided);
  EXPECT_EQ(assessment.report.suspects_size(), 0) << Text(assessment.report);
  for (const std::uint32_t endpoint : {10U, 11U})
    EXPECT_TRUE(std::any_of(
        assessment.next.begin(), assessment.next.end(),
        [&](const ProbeRequest& pair) { return pair.from == endpoint || pair.to == endpoint; }))
        << endpoint << " " << assessment.open_question;
}

// In the rounds between a port that is away in one of four looks well.
TEST(Assess, WatchesAPortThroughWhichNothingCameForARound) {
  const Fabric fabric = FabricOf(kLayout);
  const auto away = [](const auto& one) {
    return Touches(one, 5) && one.round == 4 && one.attempts > 0;
  };
  const auto seen = [&](std::uint32_t rounds) {
    std::vector<Observation> all = With(After(rounds), away, Dead);
    // The same pair once more, and it is well.
    std::vector<Observation> again;
    for (const Observation& one : After(rounds))
      if (one.round == 4 && Touches(one, 5)) again.push_back(one);
    for (Observation& one : again) one.round = 7;
    all.insert(all.end(), again.begin(), again.end());
    return all;
  };
  EXPECT_THAT(Assess(fabric, seen(8)).open_question,
              ::testing::HasSubstr("/mlx5_0/1 may have a fault"));
  EXPECT_TRUE(Assess(fabric, seen(15)).decided) << Assess(fabric, seen(15)).open_question;
}

// What is added round by round is judged as all of it at once.
TEST(Analyzer, SaysTheSameOfWhatComesBitByBit) {
  const Layout layout{.nodes = 24, .rails = 2, .per_leaf = 6, .rounds = 8};
  const Fabric fabric = FabricOf(layout);
  const auto seen = With(
      With(
          Healthy(layout), [](const auto& one) { return Touches(one, 5); },
          [](Observation& one) { Lose(one, 0.01); }),
      [](const auto& one) { return one.from % 7 == 3 && one.round == 4; }, Dead);
  const std::string all = Assess(fabric, seen).report.SerializeAsString();
  Analyzer forward(fabric);
  Analyzer backward(fabric);
  const std::span<const Observation> span = seen;
  constexpr std::size_t kStep = 100;
  for (std::size_t at = 0; at < seen.size(); at += kStep)
    forward.Add(span.subspan(at, std::min(kStep, seen.size() - at)));
  for (std::size_t end = seen.size(); end > 0;) {
    const std::size_t begin = end > kStep ? end - kStep : 0;
    backward.Add(span.subspan(begin, end - begin));
    end = begin;
  }
  EXPECT_EQ(forward.Assess().report.SerializeAsString(), all);
  EXPECT_EQ(backward.Assess().report.suspects_size(), forward.Assess().report.suspects_size());
  EXPECT_EQ(Text(backward.Assess().report), Text(forward.Assess().report));
}

TEST(Analyzer, ForgetsTheOldest) {
  const Fabric fabric = FabricOf(kLayout);
  Analyzer analyzer(fabric);
  const auto seen = With(
      After(8), [](const auto& one) { return Touches(one, 5) && one.round <= 4; }, Dead);
  analyzer.Add(seen);
  EXPECT_EQ(Text(analyzer.Judge()), "PORT n15/mlx5_0/1 TOTAL_LOSS");
  analyzer.KeepNewest(seen.size() / 2);
  EXPECT_EQ(analyzer.size(), seen.size() / 2);
  EXPECT_EQ(Text(analyzer.Judge()), "");
  EXPECT_EQ(analyzer.Judge().state(), v1::BLAME_STATE_HEALTHY);
}

}  // namespace
}  // namespace fabric::blame::testing
