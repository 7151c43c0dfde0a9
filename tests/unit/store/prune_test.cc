#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "daemon/store/database.h"
#include "daemon/store/retention.h"
#include "daemon/store/schema.h"
#include "tests/testing/temp_tree.h"

namespace fabric::store {
namespace {

class PruneTest : public ::testing::Test {
 protected:
  PruneTest() : database_(*OpenDatabase(directory_.path() + "/state.db")) {}

  void Run(const std::string& sql) {
    const Status status = database_.Execute(sql);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::int64_t Count(const std::string& table) {
    return *database_.Number("SELECT count(*) FROM " + table);
  }
  // Until there is nothing more to remove.
  void PruneAll(const Bounds& bounds, WallTime now) {
    for (int call = 0; call < 1'000; ++call) {
      const Result<bool> more = Prune(database_, bounds, now);
      ASSERT_TRUE(more.ok()) << more.status().message();
      if (!*more) return;
    }
    FAIL() << "pruning does not end";
  }
  void RunFor(Duration time) {
    const Status status = AddRunningTime(database_, time);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::string Ids() {
    auto query = *database_.Prepare("SELECT group_concat(id, ' ') FROM findings");
    EXPECT_TRUE(*query.Step());
    return std::string(query.Bytes(0));
  }

  testing::TempTree directory_;
  Database database_;
};

// Results and transitions are kept for 2 days, silences for 1.
constexpr Bounds kSmall = {
    .campaigns = 2, .pair_results = 5, .history = 3, .days = 2, .silence_days = 1};
constexpr Duration kDay = std::chrono::hours(24);
constexpr WallTime kNow{std::chrono::nanoseconds(1'000)};

TEST_F(PruneTest, LeavesWhatIsWithinTheBounds) {
  PruneAll(kSmall, kNow);
  Run("INSERT INTO campaigns (id, campaign) VALUES ('c1', x'');"
      "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 950, x'');"
      "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 1000, x'');"
      "INSERT INTO findings VALUES ('a', 1, 10, x'');"
      "INSERT INTO finding_history (id, resolved, changed_at, finding) VALUES ('a', 0, 10, x'');");
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("campaigns"), 1);
  EXPECT_EQ(Count("pair_results"), 2);
  EXPECT_EQ(Count("findings"), 1);
  EXPECT_EQ(Count("finding_history"), 1);
}

TEST_F(PruneTest, KeepsTheNewestByNumber) {
  for (int n = 1; n <= 8; ++n) {
    Run(
        Format("INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c9', {}, x'');"
               "INSERT INTO finding_history (id, resolved, changed_at, finding)"
               " VALUES ('a', 0, {}, x'');",
               n, n));
  }
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("pair_results"), 5);
  EXPECT_EQ(*database_.Number("SELECT min(ended_at) FROM pair_results"), 4);
  EXPECT_EQ(Count("finding_history"), 3);
}

// Rows are dated at random: a wrong clock must not remove anything.
TEST_F(PruneTest, AgesCountTheTimeThatTheControllerRuns) {
  const auto add = [&](const std::string& id, std::int64_t at) {
    Run(
        Format("INSERT INTO pair_results (campaign, ended_at, result) VALUES ('{0}', {1}, x'');"
               "INSERT INTO finding_history (id, resolved, changed_at, finding)"
               " VALUES ('{0}', 1, {1}, x'');"
               "INSERT INTO findings VALUES ('{0}', 0, {1}, x'');",
               id, at));
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
  Run("INSERT INTO silences VALUES ('s1', 10, x''), ('s2', 1001, x'');");
  RunFor(kDay);
  RunFor(kDay);
  Run("INSERT INTO silences VALUES ('s3', 10, x'');");
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("silences"), 2);
  EXPECT_EQ(*database_.Number("SELECT count(*) FROM silences WHERE id = 's1'"), 0);
}

TEST_F(PruneTest, TakesTheResultsOfAnOldCampaignWithIt) {
  for (int n = 1; n <= 3; ++n) {
    Run(
        Format("INSERT INTO campaigns (id, campaign) VALUES ('c{0}', x'');"
               "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c{0}', 1, x'');",
               n));
  }
  PruneAll(kSmall, kNow);
  EXPECT_EQ(Count("campaigns"), 2);
  EXPECT_EQ(*database_.Number("SELECT count(*) FROM pair_results WHERE campaign = 'c1'"), 0);
  EXPECT_EQ(Count("pair_results"), 2);
}

TEST_F(PruneTest, RemovesAFewRowsAtOnce) {
  Bounds bounds = kSmall;
  bounds.rows_at_once = 2;
  for (int n = 1; n <= 11; ++n)
    Run("INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c9', 1, x'');");
  for (const int left : {9, 7, 5}) {
    const Result<bool> more = Prune(database_, bounds, kNow);
    ASSERT_TRUE(more.ok());
    EXPECT_EQ(*more, left > 5);
    EXPECT_EQ(Count("pair_results"), left);
  }
}

TEST_F(PruneTest, TheFileShrinksAgain) {
  Bounds bounds = kSmall;
  bounds.pages_free = 4;
  Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
      "INSERT INTO pair_results (campaign, ended_at, result) SELECT 'c1', i, zeroblob(1000) FROM "
      "n;");
  const std::int64_t before = *database_.Number("PRAGMA page_count");
  PruneAll(bounds, kNow);
  EXPECT_LT(*database_.Number("PRAGMA page_count"), before / 10);
}

TEST_F(PruneTest, RemovesTheOldestBeyondTheBoundInBytes) {
  Bounds bounds = kSmall;
  bounds.pair_results = 100'000;
  bounds.bytes = 1 << 20;
  Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
      "INSERT INTO pair_results (campaign, ended_at, result) SELECT 'c1', i, zeroblob(1000) FROM "
      "n;");
  for (int call = 0; call < 50; ++call) ASSERT_TRUE(Prune(database_, bounds, kNow).ok());
  EXPECT_LT(*database_.Number("SELECT sum(length(result)) FROM pair_results"), 1 << 20);
  EXPECT_GT(Count("pair_results"), 500) << "but not more than needed";
  EXPECT_EQ(*database_.Number("SELECT max(ended_at) FROM pair_results"), 4000);
}

}  // namespace
}  // namespace fabric::store
