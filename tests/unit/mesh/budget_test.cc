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
  EXPECT_EQ(budget.paid_at(), kStart) << "what the thread has cost before is not the mesh's";
  budget.Count(kStart, seconds(7) + milliseconds(20));
  EXPECT_EQ(budget.paid_at(), kStart + seconds(2));
  budget.Count(kStart + seconds(1), seconds(7) + milliseconds(20));
  EXPECT_EQ(budget.paid_at(), kStart + seconds(2)) << "time passes, and it is as it was";
  budget.Count(kStart + seconds(2), seconds(7) + milliseconds(20));
  EXPECT_EQ(budget.paid_at(), kStart + seconds(2)) << "now";
}

TEST(MeshBudget, AnswersOthersOnCreditUntilTooMuchIsOwed) {
  Budget budget(0.01);
  budget.Count(kStart, {});
  budget.Count(kStart, milliseconds(90));
  EXPECT_TRUE(budget.solvent());
  budget.Count(kStart, milliseconds(110));
  EXPECT_FALSE(budget.solvent());
  budget.Count(kStart + milliseconds(1100), milliseconds(110));
  EXPECT_TRUE(budget.solvent());
}

TEST(MeshBudget, LittleIsSavedUpAndNobodyOwesForEver) {
  Budget budget(0.01);
  budget.Count(kStart, {});
  budget.Count(kStart + seconds(3600), {});
  budget.Count(kStart + seconds(3600), milliseconds(11));
  EXPECT_GT(budget.paid_at(), kStart + milliseconds(3600'050)) << "a second's part is 10 ms";
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
