// Counters make a suspect likelier than its twin, and accuse nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "daemon/blame/analyzer.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

constexpr Layout kCountersLayout{.nodes = 16, .rails = 1, .per_leaf = 0};

// Of all places; what is given moved at these.
std::vector<PortCounters> Counters(const Layout& layout, Sign sign,
                                   const std::vector<std::uint32_t>& moved) {
  std::vector<PortCounters> counters;
  for (std::uint32_t endpoint = 0; endpoint < layout.nodes * layout.rails; ++endpoint) {
    PortCounters& port = counters.emplace_back(PortCounters{.endpoint = endpoint, .increases = {}});
    if (std::find(moved.begin(), moved.end(), endpoint) != moved.end())
      port.increases.push_back({sign, "symbol_errors", 12, 30});
  }
  return counters;
}

// Two ports that only met each other, and lost: it may be either.
std::vector<Observation> Twins() {
  std::vector<Observation> seen = Healthy(kCountersLayout);
  std::erase_if(seen, [](const auto& one) { return Touches(one, 3) || Touches(one, 9); });
  for (std::uint32_t round = 1; round <= 5; ++round)
    seen.push_back({.from = 3, .to = 9, .round = round, .attempts = 1000, .failures = 40});
  return seen;
}

double ConfidenceOf(const v1::BlameReport& report, const std::string& name) {
  for (const v1::UndecidedGroup& group : report.undecided())
    for (const v1::Suspect& suspect : group.suspects())
      if (suspect.name() == name) return suspect.confidence();
  return 0;
}

TEST(Counters, TellTheLikelierOfTwoTwins) {
  const Fabric fabric = FabricOf(kCountersLayout);
  const std::string with = "n13/mlx5_0/1";
  const std::string without = "n19/mlx5_0/1";
  const v1::BlameReport plain = Judge(fabric, Twins());
  EXPECT_NEAR(ConfidenceOf(plain, with), ConfidenceOf(plain, without), 1e-9);
  const auto moved = Counters(kCountersLayout, Sign::kPhysical, {3});
  const v1::BlameReport report = Judge(fabric, Twins(), {}, moved);
  EXPECT_EQ(report.state(), v1::BLAME_STATE_UNDECIDED) << "they are weak";
  EXPECT_GT(ConfidenceOf(report, with), 4 * ConfidenceOf(report, without)) << Text(report);
  ASSERT_GT(report.undecided_size(), 0);
  const v1::Suspect& likeliest = report.undecided(0).suspects(0);
  EXPECT_EQ(likeliest.name(), with);
  EXPECT_THAT(likeliest.evidence(), ::testing::Contains("symbol_errors grew by 12 in 30 s"));
}

TEST(Counters, SayNothingWhereTheyMoveEverywhere) {
  const Fabric fabric = FabricOf(kCountersLayout);
  const auto moved = Counters(kCountersLayout, Sign::kRepeats,
                              {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15});
  const v1::BlameReport report = Judge(fabric, Twins(), {}, moved);
  EXPECT_NEAR(ConfidenceOf(report, "n13/mlx5_0/1"), ConfidenceOf(report, "n19/mlx5_0/1"), 1e-9);
}

TEST(Counters, AloneAccuseNobody) {
  const Fabric fabric = FabricOf(kCountersLayout);
  for (const Sign sign : {Sign::kPhysical, Sign::kDiscards, Sign::kRepeats, Sign::kPauses}) {
    const auto moved = Counters(kCountersLayout, sign, {3});
    EXPECT_EQ(Judge(fabric, Healthy(kCountersLayout), {}, moved).state(), v1::BLAME_STATE_HEALTHY);
    const auto once = With(
        Healthy(kCountersLayout), [](const auto& one) { return Touches(one, 3) && one.round == 4; },
        Dead);
    EXPECT_EQ(Judge(fabric, once, {}, moved).suspects_size(), 0) << "and once is no fault";
    EXPECT_EQ(Judge(fabric, once, {}, moved).undecided_size(),
              Judge(fabric, once).undecided_size());
  }
}

TEST(Counters, DoNotMakeAHostOfAPort) {
  const Layout layout{.nodes = 12, .rails = 2, .per_leaf = 0};
  const auto seen = With(
      Healthy(layout), [](const auto& one) { return one.from / 2 == 3 || one.to / 2 == 3; }, Dead);
  EXPECT_EQ(Text(Judge(FabricOf(layout), seen, {}, Counters(layout, Sign::kPhysical, {6}))),
            "HOST n13 TOTAL_LOSS")
      << "its other port is dead as well";
}

struct Odds {
  const char* name;
  Sign sign;
  Channel channel;
  std::vector<std::uint32_t> moved;
  Component component;
  double at_least;
  double at_most;
};

TEST(CounterEvidence, WeighsWhatIsUnusual) {
  const Layout layout{.nodes = 16, .rails = 2, .per_leaf = 4};
  const Fabric fabric = FabricOf(layout);
  ObservationPaths paths(fabric);
  paths.Add(Healthy(layout));
  const Component port{ComponentKind::kPort, 6};
  const Component host{ComponentKind::kHost, 3};
  const Odds cases[] = {
      {"errors on the link", Sign::kPhysical, Channel::kLoss, {6}, port, 7, 8},
      {"errors on another one", Sign::kPhysical, Channel::kLoss, {7}, port, 1, 1},
      {"errors on half of all",
       Sign::kPhysical,
       Channel::kLoss,
       {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
       port,
       1,
       1},
      {"discards", Sign::kDiscards, Channel::kLoss, {6}, port, 4, 6},
      {"pauses are no loss", Sign::kPauses, Channel::kLoss, {6}, port, 1, 1},
      {"pauses slow down", Sign::kPauses, Channel::kSpeed, {6}, port, 4, 6},
      {"one port of a host", Sign::kPhysical, Channel::kLoss, {6}, host, 1, 1},
      {"both ports of a host", Sign::kPhysical, Channel::kLoss, {6, 7}, host, 7, 8},
      {"a leaf has none", Sign::kPhysical, Channel::kLoss, {6}, {ComponentKind::kLeaf, 0}, 1, 1},
  };
  for (const Odds& one : cases) {
    const auto counters = Counters(layout, one.sign, one.moved);
    const double odds =
        std::exp(CounterEvidence(paths, counters).LogOdds(one.component, one.channel));
    EXPECT_GE(odds, one.at_least - 1e-9) << one.name;
    EXPECT_LE(odds, one.at_most + 1e-9) << one.name;
  }
}

TEST(CounterEvidence, SaysWhatMoved) {
  const Layout layout{.nodes = 16, .rails = 2, .per_leaf = 4};
  const Fabric fabric = FabricOf(layout);
  const ObservationPaths paths(fabric);
  const auto counters = Counters(layout, Sign::kPhysical, {6, 9});
  const CounterEvidence evidence(paths, counters);
  const std::string grew = "symbol_errors grew by 12 in 30 s";
  EXPECT_THAT(evidence.Text({ComponentKind::kPort, 6}), ::testing::ElementsAre(grew));
  EXPECT_THAT(evidence.Text({ComponentKind::kPort, 8}), ::testing::IsEmpty());
  EXPECT_THAT(evidence.Text({ComponentKind::kHost, 3}),
              ::testing::ElementsAre("n13/mlx5_0/1: " + grew));
  EXPECT_THAT(evidence.Text({ComponentKind::kPair, 6, 9}),
              ::testing::ElementsAre("n13/mlx5_0/1: " + grew, "n14/mlx5_1/1: " + grew))
      << "both ends";
  EXPECT_THAT(evidence.Text({ComponentKind::kLeaf, 0}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace fabric::blame::testing
