// Trees of switches and hosts, and what is made of them for other programs.
#include "subnet/exports/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "subnet/exports/tree.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using testing::FatTree;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Pods;

TEST(TreeOf, AFatTreeHasItsLeavesBelowOneGroup) {
  const auto tree = TreeOf(Make(FatTree{.leaves = 2, .spines = 2, .hosts = 2}).Read());
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree[0].name, "spine-1");
  EXPECT_EQ(tree[0].level, 1U);
  EXPECT_THAT(tree[0].switches, ElementsAre("spine-1", "spine-2"));
  ASSERT_EQ(tree[0].below.size(), 2U);
  EXPECT_EQ(tree[0].below[0].name, "leaf-1");
  EXPECT_THAT(tree[0].below[0].hosts, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(tree[0].below[1].hosts, ElementsAre("gpu-3", "gpu-4"));
}

TEST(TreeOf, PodsAreALevel) {
  const auto tree = TreeOf(Make(Pods{.pods = 3, .leaves = 2, .hosts = 2}).Read());
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree[0].level, 2U);
  ASSERT_EQ(tree[0].below.size(), 3U);
  EXPECT_EQ(tree[0].below[0].below.size(), 2U);
  EXPECT_EQ(tree[0].below[0].below[0].hosts.size(), 2U);
}

TEST(TreeOf, LeavesOfTheRailsOfOneHostAreOneGroup) {
  const auto tree = TreeOf(Make(FatTree{.leaves = 4, .spines = 2, .hosts = 3, .rails = 2}).Read());
  ASSERT_EQ(tree.size(), 1U);
  ASSERT_EQ(tree[0].below.size(), 2U);
  EXPECT_THAT(tree[0].below[0].switches, ElementsAre("leaf-1", "leaf-2"));
  EXPECT_EQ(tree[0].below[0].hosts.size(), 3U);
}

TEST(KubernetesTopology, LabelsEachHostOnceAndLeavesOutOtherNames) {
  testing::TestSubnet made = Make(FatTree{.leaves = 2, .spines = 1, .hosts = 2});
  made.nodes[made.Find("gpu-4 mlx5_0")].name = "Bad;rm mlx5_0";
  const std::string text = KubernetesTopology(made.Read());
  EXPECT_THAT(text, HasSubstr("kubectl label node gpu-1 --overwrite "
                              "fabricd.io/topology-level-0=leaf-1 "
                              "fabricd.io/topology-level-1=spine-1\n"));
  EXPECT_THAT(text, HasSubstr("# Without 1 host whose name cannot be"));
  EXPECT_THAT(text, Not(HasSubstr("rm")));
}

TEST(Svg, HasABoxForEachSwitchAndALineForEachPair) {
  testing::TestSubnet made = Make(FatTree{.leaves = 2, .spines = 2, .hosts = 2});
  made.nodes[made.Find("spine-2")].name = "a<b";
  const std::string svg = Svg(made.Read());
  const auto count = [&](std::string_view word) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = svg.find(word, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("<rect "), 4U);
  EXPECT_EQ(count("<line "), 4U);
  EXPECT_THAT(svg, HasSubstr("leaf-1 (2 hosts)"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
}

}  // namespace
}  // namespace fabric::subnet
