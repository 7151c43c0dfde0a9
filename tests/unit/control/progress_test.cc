#include "daemon/control/campaigns/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

plan::Rounds AllPairs(std::size_t count) {
  std::vector<plan::PortIndex> ports(count);
  std::iota(ports.begin(), ports.end(), 0);
  plan::Rounds rounds;
  rounds.Add(plan::Circle(std::move(ports)));
  return rounds;
}

Moment AfterStart(Duration time) {
  return {SteadyTime(time), WallTime(time)};
}

TEST(Progress, IsSilentUntilEnoughIsKnown) {
  Progress progress(AllPairs(64), 64);
  EXPECT_FALSE(progress.RemainingSeconds(AfterStart(0s)));
  progress.BeginRound(32, true, AfterStart(0s));
  EXPECT_FALSE(progress.RemainingSeconds(AfterStart(5s))) << "nothing has ended";
  for (int pair = 0; pair < 16; ++pair) progress.EndPair();
  EXPECT_FALSE(progress.RemainingSeconds(AfterStart(500ms))) << "too early";
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(AfterStart(2s)), 2.0 * 62.5 / 0.5);
}

TEST(Progress, CountsRoundsThatTakeTheSameTime) {
  Progress progress(AllPairs(64), 64);
  for (int round = 0; round < 63; ++round) {
    progress.BeginRound(32, true, AfterStart(round * 2s));
    progress.EndRound(AfterStart((round + 1) * 2s));
    EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(AfterStart((round + 1) * 2s)), 2.0 * (62 - round));
  }
}

TEST(Progress, CountsLargeRoundsAsOftenAsTheyHaveToBeSplit) {
  plan::Rounds rounds = AllPairs(64);
  rounds.Add(plan::Star(100, {101}, plan::Star::Towards::kOthers));
  Progress progress(rounds, 8);  // 33 pairs in the first round, then 32: 5 and 4 times 8
  progress.BeginRound(33, true, AfterStart(0s));
  progress.EndRound(AfterStart(5s));
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(AfterStart(5s)), 62 * 4.0);
}

TEST(Progress, RoundsInAdditionTakeNothingOffThePlan) {
  Progress progress(AllPairs(8), 8);
  progress.BeginRound(4, true, AfterStart(0s));
  progress.EndRound(AfterStart(1s));
  progress.BeginRound(2, false, AfterStart(1s));
  progress.EndRound(AfterStart(2s));
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(AfterStart(2s)), 6.0);
}

}  // namespace
}  // namespace fabric::control
