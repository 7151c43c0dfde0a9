#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "tests/unit/store/store_case.h"

namespace fabric::store {
namespace {

using CounterMarksSize = StoreCase;

v1::DiffNodeResponse MarkOf(std::int64_t at, int counters) {
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

// The bound on the file's size in docs/OPERATIONS.md.
TEST_F(CounterMarksSize, AMarkOfNineHundredCountersIsSmall) {
  constexpr int kNodes = 40;
  for (int n = 0; n < kNodes; ++n)
    ASSERT_TRUE(store_->AddCounterMark(Format("n{}", n), MarkOf(100, 900)).ok());
  store_.reset();
  auto database = OpenTables(path_);
  ASSERT_TRUE(database.ok());
  EXPECT_LT(*(*database)->Number("SELECT max(length(counters)) FROM counter_marks"), 8'000);
}

}  // namespace
}  // namespace fabric::store
