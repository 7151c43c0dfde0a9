// The SQLite file shrinks when rows are removed.
#include <gtest/gtest.h>

#include "daemon/store/retention.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

constexpr Bounds kFew = {
    .campaigns = 2, .pair_results = 5, .history = 3, .days = 2, .silence_days = 1};
constexpr WallTime kStart{};

class FileSize : public TablesCase {
 protected:
  void PruneAll(const Bounds& bounds, WallTime now) {
    for (int call = 0; call < 1'000; ++call) {
      const auto more = Prune(*database_, bounds, now);
      ASSERT_TRUE(more.ok()) << more.status().message();
      if (!*more) return;
    }
    FAIL() << "pruning does not end";
  }
};

TEST_F(FileSize, TheFileShrinksAgain) {
  Bounds bounds = kFew;
  bounds.pages_free = 4;
  Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
      "INSERT INTO pair_results (campaign, ended_at, result) SELECT 'c1', i, zeroblob(1000) FROM "
      "n;");
  const std::int64_t before = Number("PRAGMA page_count");
  PruneAll(bounds, kStart);
  EXPECT_LT(Number("PRAGMA page_count"), before / 10);
}

TEST_F(FileSize, RemovesTheOldestBeyondTheBoundInBytes) {
  Bounds bounds = kFew;
  bounds.pair_results = 100'000;
  bounds.bytes = 1 << 20;
  Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) "
      "INSERT INTO pair_results (campaign, ended_at, result) SELECT 'c1', i, zeroblob(1000) FROM "
      "n;");
  for (int call = 0; call < 50; ++call) ASSERT_TRUE(Prune(*database_, bounds, kStart).ok());
  EXPECT_LT(Number("SELECT sum(length(result)) FROM pair_results"), 1 << 20);
  EXPECT_GT(Count("pair_results"), 500) << "but not more than needed";
  EXPECT_EQ(Number("SELECT max(ended_at) FROM pair_results"), 4000);
}

}  // namespace
}  // namespace fabric::store
