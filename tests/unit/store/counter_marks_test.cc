// What counters of nodes were.
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "daemon/store/retention.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

v1::DiffNodeResponse Mark(std::int64_t at, int counters = 1) {
  v1::DiffNodeResponse mark;
  *mark.mutable_since() = At(at);
  for (int n = 0; n < counters; ++n) {
    v1::FieldDifference& counter = *mark.add_differences();
    counter.set_path(Format("counters[mlx5_{}/1].rx_prio{}_pause", n / 80, n % 80));
    counter.set_after(Format("{}", at));
    counter.set_before_absent(true);
    counter.set_counter(true);
  }
  return mark;
}

class CounterMarks : public StoreCase {
 protected:
  std::int64_t MarkAt(const std::string& node, std::int64_t at) {
    const auto mark = store_->CounterMark(node, At(at));
    EXPECT_TRUE(mark.ok()) << mark.status().message();
    return mark.ok() ? mark->since().seconds() : -1;
  }
};

TEST_F(CounterMarks, TheNewestBeforeAMomentElseTheOldest) {
  EXPECT_EQ(MarkAt("n1", 100), 0);
  for (const std::int64_t at : {100, 200, 300})
    ASSERT_TRUE(store_->AddCounterMark("n1", Mark(at)).ok());
  ASSERT_TRUE(store_->AddCounterMark("n2", Mark(250)).ok());
  EXPECT_EQ(MarkAt("n1", 299), 200);
  EXPECT_EQ(MarkAt("n1", 300), 300);
  EXPECT_EQ(MarkAt("n1", 1000), 300);
  EXPECT_EQ(MarkAt("n1", 5), 100);
  EXPECT_EQ(MarkAt("n2", 299), 250);
  const auto whole = store_->CounterMark("n1", At(200));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->SerializeAsString(), Mark(200).SerializeAsString());
}

TEST_F(CounterMarks, EachNodeKeepsItsNewest) {
  ASSERT_TRUE(store_->AddCounterMark("n2", Mark(1)).ok());
  for (std::int64_t at = 1; at <= 100; ++at)
    ASSERT_TRUE(store_->AddCounterMark("n1", Mark(at)).ok());
  EXPECT_EQ(MarkAt("n1", 0), 100 - Bounds().marks_of_node + 1);
  EXPECT_EQ(MarkAt("n2", 0), 1);
}

TEST_F(CounterMarks, GoWithTheirNode) {
  ASSERT_TRUE(store_->AddCounterMark("n1", Mark(1)).ok());
  ASSERT_TRUE(store_->AddCounterMark("n2", Mark(1)).ok());
  ASSERT_TRUE(store_->DeleteNode("n1").ok());
  EXPECT_EQ(MarkAt("n1", 5), 0);
  EXPECT_EQ(MarkAt("n2", 5), 1);
}

class CounterMarksDamaged : public TablesCase {};

TEST_F(CounterMarksDamaged, AreSkippedAndCounted) {
  Run("INSERT INTO counter_marks VALUES (1, 'n1', 10, 'no mark');");
  database_.reset();
  auto store = OpenBackend(path_);
  ASSERT_TRUE(store.ok());
  EXPECT_FALSE((*store)->CounterMark("n1", At(11))->has_since());
  EXPECT_GT((*store)->damage().rows, 0u);
  ASSERT_TRUE((*store)->AddCounterMark("n1", Mark(5)).ok());
  EXPECT_EQ((*store)->CounterMark("n1", At(11))->since().seconds(), 5);
}

}  // namespace
}  // namespace fabric::store
