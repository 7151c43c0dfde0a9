// What the mesh may spend, and for how long it stays awake.
#include "agents/mesh/budget.h"

#include <gtest/gtest.h>

#include "agents/mesh/vigil.h"

namespace fabric::mesh {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{seconds(100)};

TEST(MeshBudget, WhatWasSpentIsPaidByItsPartOfACore) {
  Budget budget(0.01);
  budget.Count(kStart, seconds(7));
  EXPECT_TRUE(budget.paid()) << "what the thread has cost before is not the mesh's";
  budget.Count(kStart, seconds(7) + milliseconds(20));
  EXPECT_FALSE(budget.paid());
  EXPECT_EQ(budget.paid_at(), kStart + seconds(2));
  budget.Count(kStart + seconds(1), seconds(7) + milliseconds(20));
  EXPECT_EQ(budget.paid_at(), kStart + seconds(2)) << "time passes, and it is as it was";
  budget.Count(kStart + seconds(2), seconds(7) + milliseconds(20));
  EXPECT_TRUE(budget.paid());
}

TEST(MeshBudget, LittleIsSavedUpAndNobodyOwesForEver) {
  Budget budget(0.01);
  budget.Count(kStart, {});
  budget.Count(kStart + seconds(3600), {});
  budget.Count(kStart + seconds(3600), milliseconds(11));
  EXPECT_FALSE(budget.paid()) << "a second's part is 10 ms";
  budget.Count(kStart + seconds(3600), seconds(100));
  EXPECT_EQ(budget.paid_at(), kStart + seconds(3660));
}

TEST(MeshVigil, EndsWithEachThingOrItsTime) {
  Vigil vigil;
  EXPECT_FALSE(vigil.GoesOn(kStart));
  vigil.Begin(1, kStart + milliseconds(5));
  vigil.Begin(2, kStart + milliseconds(2));
  vigil.End(1);
  EXPECT_TRUE(vigil.GoesOn(kStart + milliseconds(1)));
  EXPECT_FALSE(vigil.GoesOn(kStart + milliseconds(2)));
  vigil.End(2);
}

}  // namespace
}  // namespace fabric::mesh
