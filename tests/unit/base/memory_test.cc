#include "base/memory.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace fabric {
namespace {

// Code and constants come back as they were, also for threads that run meanwhile.
TEST(ReleaseStartMemory, LeavesAProgramAsItWas) {
  ShareOneHeap();
  const std::vector<std::string> before(1000, "a string that is too long for its object");
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      for (const std::string& text : before) EXPECT_EQ(text, before.front());
  });
  for (int i = 0; i < 20; ++i) ReleaseStartMemory();
  EXPECT_EQ(before.back(), "a string that is too long for its object");
}

}  // namespace
}  // namespace fabric
