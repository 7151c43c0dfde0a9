// The log of what changed on nodes.
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "daemon/store/retention.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

v1::DiffNodeResponse Change(std::int64_t at, const std::string& path) {
  v1::DiffNodeResponse change;
  *change.mutable_since() = At(at);
  if (!path.empty()) change.add_differences()->set_path(path);
  return change;
}

class FactsTest : public StoreCase {
 protected:
  void Add(const std::string& node, std::int64_t at, const std::string& path) {
    const Status status = store_->AddSettingChange(node, Change(at, path));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ChangeLog Read(const std::string& node, std::int64_t from) {
    auto log = store_->SettingChanges(node, At(from));
    EXPECT_TRUE(log.ok()) << log.status().message();
    return log.ok() ? *log : ChangeLog();
  }
};

TEST_F(FactsTest, ChangesOfANodeInTheirOrderFromAMomentOn) {
  Add("n1", 10, "");
  Add("n1", 20, "a");
  Add("n2", 21, "b");
  Add("n1", 30, "c");
  Add("n1", 40, "");  // It has begun already.
  Open();
  const ChangeLog log = Read("n1", 20);
  EXPECT_EQ(log.since.seconds(), 10);
  ASSERT_EQ(log.changes.size(), 2U);
  EXPECT_EQ(log.changes[0].differences(0).path(), "a");
  EXPECT_EQ(log.changes[1].differences(0).path(), "c");
  EXPECT_EQ(Read("n1", 21).changes.size(), 1U);
  EXPECT_EQ(Read("n3", 0).since.seconds(), 0);
}

TEST_F(FactsTest, ANodeThatFlapsLosesOnlyItsOwnPast) {
  Add("n1", 1, "");
  Add("n2", 1, "");
  Add("n2", 2, "kept");
  const auto most = static_cast<int>(Bounds().changes_of_node);
  for (int i = 0; i < most + 200; ++i) Add("n1", 100 + i, "flaps");
  const ChangeLog log = Read("n1", 0);
  EXPECT_LE(log.changes.size(), static_cast<std::size_t>(most) + 64U);
  EXPECT_LT(log.changes.size(), static_cast<std::size_t>(most) + 200U);
  EXPECT_EQ(log.since.seconds() + 1, log.changes.front().since().seconds());
  EXPECT_EQ(Read("n2", 0).changes.size(), 1U);
  EXPECT_EQ(Read("n2", 0).since.seconds(), 1);
}

class FactsPrune : public TablesCase {};

TEST_F(FactsPrune, ForgetsTheOldestAndSaysSinceWhenIsKnown) {
  for (int n = 1; n <= 6; ++n)
    Run(Format("INSERT INTO fact_changes VALUES ({0}, 'n1', {0}, '');", n));
  Run("INSERT INTO fact_logs VALUES ('n1', 0), ('n2', 0);");
  ASSERT_TRUE(Prune(*database_, {.fact_changes = 4}, {}).ok());
  EXPECT_EQ(Count("fact_changes"), 4);
  EXPECT_EQ(Number("SELECT since FROM fact_logs WHERE node = 'n1'"), 2);
  EXPECT_EQ(Number("SELECT since FROM fact_logs WHERE node = 'n2'"), 0);
  ASSERT_TRUE(Prune(*database_, {.fact_changes = 2}, {}).ok());
  EXPECT_EQ(Count("fact_changes"), 2);
  EXPECT_EQ(Number("SELECT since FROM fact_logs WHERE node = 'n1'"), 4);
}

TEST_F(FactsTest, GoWithTheirNode) {
  Add("n1", 10, "");
  Add("n1", 20, "a");
  Add("n2", 10, "");
  ASSERT_TRUE(store_->DeleteNode("n1").ok());
  EXPECT_EQ(Read("n1", 0).since.seconds(), 0);
  EXPECT_TRUE(Read("n1", 0).changes.empty());
  EXPECT_EQ(Read("n2", 0).since.seconds(), 10);
}

}  // namespace
}  // namespace fabric::store
