#include "base/suggest.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

TEST(Closest, FindsTheTypoAndNothingElse) {
  EXPECT_EQ(Closest("nodse", {"nodes", "devices"}), "nodes");
  EXPECT_EQ(Closest("matrx", {"nodes", "matrix"}), "matrix");
  EXPECT_EQ(Closest("frobnicate", {"nodes", "matrix"}), "");
  EXPECT_EQ(Closest(std::string(1000, 'x'), {std::string(1000, 'x')}), "") << "too long to compare";
}

TEST(Closest, AShortWordIsNotAnotherWord) {
  EXPECT_EQ(Closest("foo", {"dot", "svg"}), "");
  EXPECT_EQ(Closest("tcsh", {"bash", "fish"}), "");
  EXPECT_EQ(Closest("dcsp", {"pcp", "dscp"}), "dscp") << "two letters changed places";
  EXPECT_EQ(Closest("dt", {"dot", "svg"}), "dot");
}

TEST(Closest, FindsANameByItsBeginning) {
  EXPECT_EQ(Closest("mtu_equal", {"mtu_path", "mtu_equal_on_rail"}), "mtu_equal_on_rail");
  EXPECT_EQ(Closest("mtu_equl", {"mtu_path", "mtu_equal_on_rail"}), "mtu_equal_on_rail");
  EXPECT_EQ(Closest("gpu", {"gpu-00000001"}), "") << "too short";
  EXPECT_EQ(Closest("leaf", {"unrelated_leaf"}), "");
}

TEST(Suggest, IsEmptyWithoutACloseCandidate) {
  EXPECT_EQ(Suggest("nodse", {"nodes"}), "; did you mean 'nodes'?");
  EXPECT_EQ(Suggest("frobnicate", {"nodes"}), "");
}

TEST(UnknownName, NamesKindAndWord) {
  EXPECT_EQ(UnknownName("node", "n22", {"n1", "n2"}, "; see nodes"),
            "unknown node 'n22'; did you mean 'n2'?");
  EXPECT_EQ(UnknownName("node", "leaf", {"n1", "n2"}, "; see nodes"),
            "unknown node 'leaf'; see nodes");
  EXPECT_EQ(UnknownName("node", "leaf", {}), "unknown node 'leaf'");
}

}  // namespace
}  // namespace fabric
