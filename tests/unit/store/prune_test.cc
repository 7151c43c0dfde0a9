#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "daemon/store/retention.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

// Statements that add a row behind the last one.
std::string PairResult(const std::string& campaign, std::int64_t at) {
  return Format(
      "INSERT INTO pair_results SELECT coalesce(max(sequence), 0) + 1, '{}', {}, '' FROM "
      "pair_results;",
      campaign, at);
}
std::string Transition(const std::string& id, int resolved, std::int64_t at) {
  return Format(
      "INSERT INTO finding_history (sequence, id, resolved, changed_at, finding) SELECT "
      "coalesce(max(sequence), 0) + 1, '{}', {}, {}, '' FROM finding_history;",
      id, resolved, at);
}
std::string Campaign(const std::string& id) {
  return Format(
      "INSERT INTO campaigns SELECT coalesce(max(sequence), 0) + 1, '{}', '' FROM campaigns;", id);
}

class PruneTest : public TablesCase {
 protected:
  // Until there is nothing more to remove.
  void PruneAll(const Bounds& bounds, WallTime now) {
    for (int call = 0; call < 1'000; ++call) {
      const auto more = Prune(*database_, bounds, now);
      ASSERT_TRUE(more.ok()) << more.status().message();
      if (!*more) return;
    }
    FAIL() << "pruning does not end";
  }
  void RunFor(Duration time) {
    const Status status = AddRunningTime(*database_, time);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::string Ids() {
    auto query = *database_->Make("SELECT id FROM findings ORDER BY id");
    std::string ids;
    while (*query->Step()) ids += (ids.empty() ? "" : " ") + std::string(query->Bytes(0));
    return ids;
  }
};

// Results and transitions are kept for 2 days, silences for 1.
constexpr Bounds kSmall = {
    .campaigns = 2, .pair_results = 5, .history = 3, .days = 2, .silence_days = 1};
constexpr Duration kDay = std::chrono::hours(24);
constexpr WallTime kNow{std::chrono::nanoseconds(1'000)};

TEST_F(PruneTest, LeavesWhatIsWithinTheBounds) {
  PruneAll(kSmall, kNow);
  Run(Campaign("c1") + PairResult("c1", 950) + PairResult("c1", 1000) +
      "INSERT INTO findings VALUES ('a', 1, 10, '');" + Transition("a", 0, 10));
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("campaigns"), 1);
  EXPECT_EQ(Count("pair_results"), 2);
  EXPECT_EQ(Count("findings"), 1);
  EXPECT_EQ(Count("finding_history"), 1);
}

TEST_F(PruneTest, KeepsTheNewestByNumber) {
  for (int n = 1; n <= 8; ++n) {
    Run(PairResult("c9", n) + Transition("a", 0, n));
  }
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("pair_results"), 5);
  EXPECT_EQ(Number("SELECT min(ended_at) FROM pair_results"), 4);
  EXPECT_EQ(Count("finding_history"), 3);
}

// Rows are dated at random: a wrong clock must not remove anything.
TEST_F(PruneTest, AgesCountTheTimeThatTheControllerRuns) {
  const auto add = [&](const std::string& id, std::int64_t at) {
    Run(PairResult(id, at) + Transition(id, 1, at) +
        Format("INSERT INTO findings VALUES ('{}', 0, {}, '');", id, at));
  };
  constexpr std::int64_t kYear = 365LL * 24 * 3600 * 1'000'000'000;
  add("day0", 10 * kYear);
  RunFor(kDay);
  add("day1", -kYear);
  RunFor(kDay);
  add("day2", 11 * kYear);
  for (const WallTime now : {kNow, kNow + Duration(20 * kYear), kNow}) PruneAll(kSmall, now);
  EXPECT_EQ(Ids(), "day0 day1 day2");
  RunFor(kDay);
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Ids(), "day1 day2");
  EXPECT_EQ(Count("pair_results"), 2);
  EXPECT_EQ(Count("finding_history"), 2);
  RunFor(kDay);
  RunFor(kDay);
  Run("UPDATE findings SET open = 1 WHERE id = 'day2';");
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Ids(), "day2") << "an open finding never grows too old";
}

TEST_F(PruneTest, ASilenceThatHasNotEndedStays) {
  Run("INSERT INTO silences VALUES ('s1', 10, ''), ('s2', 1001, '');");
  RunFor(kDay);
  RunFor(kDay);
  Run("INSERT INTO silences VALUES ('s3', 10, '');");
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("silences"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM silences WHERE id = 's1'"), 0);
}

TEST_F(PruneTest, TakesTheResultsOfAnOldCampaignWithIt) {
  for (int n = 1; n <= 3; ++n) {
    Run(Campaign(Format("c{}", n)) + PairResult(Format("c{}", n), 1));
  }
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("campaigns"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM pair_results WHERE campaign = 'c1'"), 0);
  EXPECT_EQ(Count("pair_results"), 2);
}

TEST_F(PruneTest, RemovesAFewRowsAtOnce) {
  Bounds bounds = kSmall;
  bounds.rows_at_once = 2;
  for (int n = 1; n <= 11; ++n) Run(PairResult("c9", 1));
  for (const int left : {9, 7, 5}) {
    const auto more = Prune(*database_, bounds, kNow);
    ASSERT_TRUE(more.ok());
    EXPECT_EQ(*more, left > 5);
    EXPECT_EQ(Count("pair_results"), left);
  }
}

}  // namespace
}  // namespace fabric::store
