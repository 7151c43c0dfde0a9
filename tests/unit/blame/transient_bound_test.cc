// Weight of events that may have a transient cause.
#include "daemon/blame/transient_bound.h"

#include <gtest/gtest.h>

namespace fabric::blame {
namespace {

constexpr double kTransient = 1e-3;

TEST(TransientBound, AGoodEventCountsInFull) {
  EXPECT_EQ(AgainstTransient(-50, -50, -2, kTransient), -50);
}

TEST(TransientBound, ABadEventCountsForNoMoreThanATransientCauseIsRare) {
  EXPECT_NEAR(AgainstTransient(3, 3, 3, kTransient), 3, 0.02);
  EXPECT_NEAR(AgainstTransient(200, 200, 200, kTransient), -std::log(kTransient), 0.01);
  EXPECT_NEAR(AgainstTransient(5000, 5000, 5000, kTransient), -std::log(kTransient), 0.01);
}

// A burst at one pair has nothing to do with a spine that drops one flow of 16.
TEST(TransientBound, AnEventThatTheHypothesisDoesNotExplainSaysNothing) {
  EXPECT_NEAR(AgainstTransient(-0.2, 100, 100, kTransient), 0, 0.01);
  EXPECT_NEAR(AgainstTransient(-0.2, 5000, 5000, kTransient), 0, 0.01);
}

// A transient cause does not repair a dead port: packets that arrived speak against it.
TEST(TransientBound, AnEventThatTheHypothesisExcludesSpeaksAgainstIt) {
  EXPECT_LT(AgainstTransient(-80, -80, 20, kTransient), -80);
}

}  // namespace
}  // namespace fabric::blame
