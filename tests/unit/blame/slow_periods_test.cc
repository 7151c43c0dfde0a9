// All machines are slow for a second or two, while few pairs are probed at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "daemon/blame/blame.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

// Three leaves, as of the lab.
constexpr Layout kThreeLeaves{.nodes = 9, .rails = 1, .per_leaf = 3};
constexpr double kRound_s = 0.35;

// One pair in each round. Those from 3 to 6 cross the last leaf, no other round does.
constexpr std::pair<std::uint32_t, std::uint32_t> kPairs[] = {
    {0, 3}, {1, 4}, {2, 6}, {5, 7}, {0, 8}, {3, 6}, {2, 5}, {1, 3}, {0, 5}, {0, 4}, {2, 3}};
constexpr auto kRounds = static_cast<std::uint32_t>(std::size(kPairs));
constexpr std::uint32_t kSlowFrom = 3;
constexpr std::uint32_t kSlowTo = 6;

using Change = std::function<void(Observation&)>;

bool IsAcrossLast(const Observation& seen) {
  return (seen.from >= 6) != (seen.to >= 6);
}

// Sixteen flows for each pair: five of those of the slow rounds change.
std::vector<Observation> Campaign(const Change& slow) {
  std::vector<Observation> observations;
  std::uint32_t round = 0;
  for (const auto& [from, to] : kPairs) {
    ++round;
    for (std::uint32_t label = 1; label <= 16; ++label) {
      Observation flow{.from = from, .to = to, .round = round, .flow_label = label};
      flow.began_s = 1000 + kRound_s * round;
      flow.attempts = 100;
      flow.latency = 1.0F;
      flow.speed = 1.0F;
      if (round >= kSlowFrom && round <= kSlowTo && (label + 3 * round) % 16 < 5) slow(flow);
      observations.push_back(flow);
    }
  }
  return observations;
}

struct Symptom {
  const char* name;
  Change change;
};

class SlowPeriod : public ::testing::TestWithParam<Symptom> {};

TEST_P(SlowPeriod, NamesNoPartThatItsPairsShareByChance) {
  const Assessment assessment = Assess(FabricOf(kThreeLeaves), Campaign(GetParam().change));
  EXPECT_EQ(assessment.report.suspects_size(), 0) << Text(assessment.report);
  EXPECT_NE(assessment.report.state(), v1::BLAME_STATE_HEALTHY) << "nothing crossed the leaf since";
  EXPECT_FALSE(assessment.decided);
  EXPECT_FALSE(assessment.next.empty()) << assessment.open_question;
}

// Later probes of the leaf are good: the period is over and explains what was seen.
TEST_P(SlowPeriod, IsNoFaultIfLaterProbesAreGood) {
  std::vector<Observation> seen = Campaign(GetParam().change);
  const std::vector<Observation> good = Campaign([](Observation&) {});
  for (Observation later : good) {
    later.round += kRounds;
    later.began_s += 8;
    seen.push_back(later);
  }
  const v1::BlameReport report = Judge(FabricOf(kThreeLeaves), seen);
  EXPECT_EQ(Text(report), "");
}

// The same flows are bad again and again, ten seconds apart.
TEST_P(SlowPeriod, AFaultThatIsThereLaterIsNamed) {
  std::vector<Observation> seen;
  for (std::uint32_t again = 0; again < 6; ++again) {
    for (Observation one : Campaign(GetParam().change)) {
      one.round += again * kRounds;
      one.began_s += 10 * again;
      seen.push_back(one);
    }
  }
  const v1::BlameReport report = Judge(FabricOf(kThreeLeaves), seen);
  EXPECT_THAT(Text(report), ::testing::StartsWith("UPLINK leaf-0-2 uplinks")) << Text(report);
}

INSTANTIATE_TEST_SUITE_P(
    Judge, SlowPeriod,
    ::testing::Values(Symptom{"latency", [](Observation& seen) { seen.latency = 5; }},
                      Symptom{"loss", [](Observation& seen) { Lose(seen, 0.2); }}),
    [](const auto& one) { return std::string(one.param.name); });

// Everything that crosses the leaf is late: the leaf, or the port of a pair.
TEST(SlowPeriods, AlsoExplainABadLeafAndABadPort) {
  for (const std::uint32_t end : {0U, 6U}) {
    const auto bad = With(
        Campaign([](Observation&) {}),
        [&](const auto& seen) {
          const bool slow = seen.round >= kSlowFrom && seen.round <= kSlowTo;
          return slow && (end == 0 ? IsAcrossLast(seen) : Touches(seen, end));
        },
        [](Observation& seen) {
          seen.latency = 5;
          Lose(seen, 0.3);
        });
    EXPECT_EQ(Judge(FabricOf(kThreeLeaves), bad).suspects_size(), 0)
        << Text(Judge(FabricOf(kThreeLeaves), bad));
  }
}

// Many pairs at once: the good ones show that the machines were not slow.
TEST(SlowPeriods, DoNotHideAFaultNextToGoodPairs) {
  const Layout layout{.nodes = 32, .rails = 1, .per_leaf = 8, .rounds = 3};
  const auto bad = With(
      Healthy(layout), [](const auto& seen) { return seen.from < 8 || seen.to < 8; }, Dead);
  EXPECT_EQ(Text(Judge(FabricOf(layout), Apart(bad, 0.5))), "LEAF leaf-0-0 TOTAL_LOSS");
  const auto port = With(
      Healthy(layout), [](const auto& seen) { return Touches(seen, 5); }, Dead);
  EXPECT_EQ(Text(Judge(FabricOf(layout), Apart(port, 0.9))), "PORT n15/mlx5_0/1 TOTAL_LOSS");
}

}  // namespace
}  // namespace fabric::blame::testing
