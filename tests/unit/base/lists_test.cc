#include "base/lists.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(ListSome, CountsTheItemsThatItLeavesOut) {
  EXPECT_EQ(ListSome({}, 2), "");
  EXPECT_EQ(ListSome({"a", "b"}, 2), "a, b");
  EXPECT_EQ(ListSome({"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(ListSome({"a", "b", "c"}, 2, " "), "a b and 1 more");
  EXPECT_EQ(ListSome({"a", "b"}, 4, 10), "a, b and 8 more");
}

TEST(Plural, AddsAnS) {
  EXPECT_EQ(Plural(0, "node"), "0 nodes");
  EXPECT_EQ(Plural(1, "node"), "1 node");
}

TEST(NaturalLess, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_TRUE(NaturalLess("n2", "n10"));
  EXPECT_FALSE(NaturalLess("n10", "n2"));
  EXPECT_TRUE(NaturalLess("n1", "n1/rxe0"));
  EXPECT_TRUE(NaturalLess("a9", "b1"));
  EXPECT_TRUE(NaturalLess("rack1-n9", "rack1-n10"));
  EXPECT_TRUE(NaturalLess("n01", "n1") != NaturalLess("n1", "n01")) << "a total order";
  EXPECT_FALSE(NaturalLess("n1", "n1"));
}

}  // namespace
}  // namespace fabric
