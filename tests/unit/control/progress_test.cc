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

Moment At(Duration time) {
  return {SteadyTime(time), WallTime(time)};
}

TEST(Progress, IsSilentUntilEnoughIsKnown) {
  Progress progress(AllPairs(64), 64);
  EXPECT_FALSE(progress.RemainingSeconds(At(0s)));
  progress.BeginRound(32, true, At(0s));
  EXPECT_FALSE(progress.RemainingSeconds(At(5s))) << "nothing has ended";
  for (int pair = 0; pair < 16; ++pair) progress.EndPair();
  EXPECT_FALSE(progress.RemainingSeconds(At(500ms))) << "too early";
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(At(2s)), 2.0 * 62.5 / 0.5);
}

TEST(Progress, CountsRoundsThatTakeTheSameTime) {
  Progress progress(AllPairs(64), 64);
  for (int round = 0; round < 63; ++round) {
    progress.BeginRound(32, true, At(round * 2s));
    progress.EndRound(At((round + 1) * 2s));
    EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(At((round + 1) * 2s)), 2.0 * (62 - round));
  }
}

TEST(Progress, CountsLargeRoundsAsOftenAsTheyHaveToBeSplit) {
  plan::Rounds rounds = AllPairs(64);
  rounds.Add(plan::Star(100, {101}, plan::Star::Towards::kOthers));
  Progress progress(rounds, 8);  // 33 pairs in the first round, then 32: 5 and 4 times 8
  progress.BeginRound(33, true, At(0s));
  progress.EndRound(At(5s));
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(At(5s)), 62 * 4.0);
}

TEST(Progress, RoundsInAdditionTakeNothingOffThePlan) {
  Progress progress(AllPairs(8), 8);
  progress.BeginRound(4, true, At(0s));
  progress.EndRound(At(1s));
  progress.BeginRound(2, false, At(1s));
  progress.EndRound(At(2s));
  EXPECT_DOUBLE_EQ(*progress.RemainingSeconds(At(2s)), 6.0);
}

}  // namespace
}  // namespace fabric::control
