#include "daemon/access/denied_limit.h"

#include <gtest/gtest.h>

#include <string>

namespace fabric::access {
namespace {

using namespace std::chrono_literals;

Moment At(Duration since) {
  return {.steady = SteadyTime(std::chrono::hours(1)) + since,
          .wall = WallTime(1'000'000h) + since};
}

TEST(DeniedLimit, AFloodOfOneHostIsOneSummary) {
  DeniedLimit limit;
  int granted = 0;
  for (int i = 0; i < 10'000; ++i)
    granted += limit.Grants("192.0.2.7", "reason " + std::to_string(i), At(i * 1ms));
  EXPECT_GE(granted, 10);
  EXPECT_LE(granted, 16) << "10 at once and 0.5 per second";
  EXPECT_TRUE(limit.Take(At(10s), false).empty()) << "not yet due";
  const auto summaries = limit.Take(At(70s), false);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].host, "192.0.2.7");
  EXPECT_EQ(summaries[0].calls + static_cast<std::uint64_t>(granted), 10'000u);
  EXPECT_EQ(summaries[0].reason, "reason 9999");
  EXPECT_TRUE(limit.Take(At(140s), true).empty());
}

TEST(DeniedLimit, OtherHostsHaveEntriesDuringAFlood) {
  DeniedLimit limit;
  for (int i = 0; i < 1'000; ++i) (void)limit.Grants("192.0.2.7", "r", At(0s));
  EXPECT_TRUE(limit.Grants("192.0.2.8", "r", At(0s)));
}

TEST(DeniedLimit, ManyHostsAreBoundedInEntriesAndMemory) {
  DeniedLimit limit;
  int granted = 0;
  for (int i = 0; i < 5'000; ++i) granted += limit.Grants("h" + std::to_string(i), "r", At(0s));
  EXPECT_EQ(granted, 100);
  std::uint64_t counted = 0;
  const auto summaries = limit.Take(At(1s), true);
  bool others = false;
  for (const auto& summary : summaries) {
    counted += summary.calls;
    others |= summary.host == DeniedLimit::kOtherHosts;
  }
  EXPECT_TRUE(others);
  EXPECT_LE(summaries.size(), DeniedLimit::kHostsMax + 1);
  EXPECT_EQ(counted, 4'900u) << "each call has an entry or is counted";
  EXPECT_TRUE(limit.Take(At(61s), false).empty());
  EXPECT_TRUE(limit.Grants("new", "r", At(62s))) << "quiet hosts are forgotten";
}

}  // namespace
}  // namespace fabric::access
