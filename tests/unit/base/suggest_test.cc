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
