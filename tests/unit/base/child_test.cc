#include "base/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace fabric {
namespace {

TEST(RunInChild, ReturnsWhatTheWorkReturns) {
  EXPECT_EQ(RunInChild([] { return 0; }), 0);
  EXPECT_EQ(RunInChild([] { return 7; }), 7);
}

TEST(RunInChild, LeavesThisProcessAsItIs) {
  const pid_t parent = ::getpid();
  int written = 0;
  EXPECT_EQ(RunInChild([&] {
              written = 1;
              return ::getpid() == parent ? 1 : 2;
            }),
            2);
  EXPECT_EQ(written, 0);
}

TEST(RunInChild, TellsOfASignal) {
  EXPECT_EQ(RunInChild([] {
              ::raise(SIGKILL);
              return 0;
            }),
            128 + SIGKILL);
}

}  // namespace
}  // namespace fabric
