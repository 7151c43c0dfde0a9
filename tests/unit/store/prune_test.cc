#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "daemon/store/database.h"
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

  testing::TempTree directory_;
  Database database_;
};

constexpr Bounds kSmall = {.campaigns = 2, .pair_results = 5, .history = 3, .age_ns = 100};

TEST_F(PruneTest, LeavesWhatIsWithinTheBounds) {
  EXPECT_TRUE(Prune(database_, kSmall).ok()) << "empty tables";
  Run("INSERT INTO campaigns (id, campaign) VALUES ('c1', x'');"
      "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 950, x'');"
      "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 1000, x'');"
      "INSERT INTO findings VALUES ('a', 1, 10, x'');"
      "INSERT INTO finding_history (id, resolved, changed_at, finding) VALUES ('a', 0, 10, x'');");
  ASSERT_TRUE(Prune(database_, kSmall).ok());
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
  ASSERT_TRUE(Prune(database_, kSmall).ok());
  EXPECT_EQ(Count("pair_results"), 5);
  EXPECT_EQ(*database_.Number("SELECT min(ended_at) FROM pair_results"), 4);
  EXPECT_EQ(Count("finding_history"), 3);
}

TEST_F(PruneTest, RemovesWhatIsOldAgainstTheNewest) {
  Run("INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 10, x'');"
      "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c1', 1000, x'');"
      "INSERT INTO finding_history (id, resolved, changed_at, finding) VALUES ('a', 0, 10, x'');"
      "INSERT INTO finding_history (id, resolved, changed_at, finding) VALUES ('a', 1, 999, x'');"
      "INSERT INTO findings VALUES ('open', 1, 10, x''), ('resolved', 0, 10, x''),"
      " ('fresh', 0, 1000, x'');"
      "INSERT INTO silences VALUES ('s1', 10, x''), ('s2', 950, x''), ('s3', 1000, x'');");
  ASSERT_TRUE(Prune(database_, kSmall).ok());
  EXPECT_EQ(Count("pair_results"), 1);
  EXPECT_EQ(Count("finding_history"), 1);
  EXPECT_EQ(Count("silences"), 2);
  EXPECT_EQ(Count("findings"), 2) << "an open finding never grows too old";
}

TEST_F(PruneTest, TakesTheResultsOfAnOldCampaignWithIt) {
  for (int n = 1; n <= 3; ++n) {
    Run(
        Format("INSERT INTO campaigns (id, campaign) VALUES ('c{0}', x'');"
               "INSERT INTO pair_results (campaign, ended_at, result) VALUES ('c{0}', 1, x'');",
               n));
  }
  ASSERT_TRUE(Prune(database_, kSmall).ok());
  EXPECT_EQ(Count("campaigns"), 2);
  EXPECT_EQ(*database_.Number("SELECT count(*) FROM pair_results WHERE campaign = 'c1'"), 0);
  EXPECT_EQ(Count("pair_results"), 2);
}

}  // namespace
}  // namespace fabric::store
