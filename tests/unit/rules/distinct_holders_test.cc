#include "daemon/rules/engine/distinct_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine/engine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::Le;

std::size_t asked = 0;  // How often a rule was asked about holders

constexpr UniquenessRule kValues = {.what = "value",
                                    .same =
                                        [](const KeyHolder& first, const KeyHolder& second) {
                                          ++asked;
                                          return !first.netdev.empty() &&
                                                 first.netdev == second.netdev;
                                        },
                                    .identities =
                                        [](const KeyHolder& holder, std::vector<Value>& out) {
                                          ++asked;
                                          if (holder.index)
                                            out.push_back({.number = *holder.index});
                                          if (holder.key.number > 0)
                                            out.push_back({.text = "the same card"});
                                        }};

// Compares each holder with all that were kept.
std::vector<std::size_t> Naive(const std::vector<KeyHolder>& holders) {
  const auto same = [](const KeyHolder& first, const KeyHolder& second) {
    if (first.member.node == second.member.node) return kValues.same(first, second);
    std::vector<Value> left, right;
    kValues.identities(first, left);
    kValues.identities(second, right);
    return std::any_of(left.begin(), left.end(), [&](const Value& one) {
      return std::find(right.begin(), right.end(), one) != right.end();
    });
  };
  std::vector<std::size_t> kept;
  for (std::size_t n = 0; n < holders.size(); ++n)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](std::size_t other) { return same(holders[other], holders[n]); }))
      kept.push_back(n);
  return kept;
}

std::vector<std::size_t> Kept(const std::vector<KeyHolder>& holders) {
  DistinctHolders distinct(kValues);
  std::vector<std::size_t> kept;
  for (std::size_t n = 0; n < holders.size(); ++n)
    if (distinct.Keep(holders[n])) kept.push_back(n);
  EXPECT_EQ(distinct.kept().size(), kept.size());
  return kept;
}

TEST(DistinctHolders, KeepsWhatAComparisonWithAllKeeps) {
  const std::vector<fleet::NodeView> nodes(8);
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    std::mt19937 random(seed);
    std::vector<KeyHolder> holders;
    for (const fleet::NodeView& node : nodes)
      for (std::uint32_t ports = random() % 4; ports > 0; --ports) {
        KeyHolder& holder = holders.emplace_back();
        holder.member.node = &node;
        holder.key.number = random() % 6 == 0 ? 1 : 0;
        if (random() % 3 == 0) holder.netdev = random() % 2 == 0 ? "bond0" : "bond1";
        if (random() % 2 == 0) holder.index = random() % 6;
      }
    ASSERT_EQ(Kept(holders), Naive(holders)) << "seed " << seed;
  }
}

TEST(DistinctHolders, ThatShareAnIdentityOnOneNodeOnlyAreDifferent) {
  const std::vector<fleet::NodeView> nodes(2);
  std::vector<KeyHolder> holders(3);
  for (KeyHolder& holder : holders) {
    holder.member.node = nodes.data();
    holder.index = 1;
  }
  holders[2].member.node = &nodes[1];
  EXPECT_THAT(Kept(holders), ElementsAre(0, 1));
}

TEST(DistinctHolders, WorkGrowsWithTheNumberOfHolders) {
  const std::vector<fleet::NodeView> nodes(10'000);
  std::vector<KeyHolder> holders(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    holders[n].member.node = &nodes[n];
    holders[n].index = n;
  }
  asked = 0;
  EXPECT_EQ(Kept(holders).size(), nodes.size());
  EXPECT_THAT(asked, Le(2 * nodes.size()));
}

// One finding about many nodes: judged in parts, and like at once.
TEST(DistinctHolders, OfAValueOfManyNodesAreJudgedInParts) {
  constexpr std::uint32_t kNodes = 1'000;
  std::vector<fleet::NodeRecord> records(kNodes);
  Engine engine;
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    v1::NodeSnapshot node = testing::RoceNode({.number = n + 1, .rails = 1});
    node.mutable_node()->set_machine_id("of the image");
    testing::DeviceOf(node, 0).set_node_guid("5054:00ff:fe00:0001");
    records[n] = {.name = node.node().name(), .snapshot = std::move(node)};
    records[n].version = 1;
    engine.Put(records[n]);
  }
  std::optional<Delta> delta;
  std::uint32_t parts = 0;
  for (; !delta; ++parts) delta = engine.TakePart(1'000);
  EXPECT_GE(parts, 4U);
  for (const char* rule : {"duplicate_machine_id", "duplicate_node_guid"}) {
    const auto found = std::find_if(delta->found.begin(), delta->found.end(),
                                    [&](const v1::Finding& one) { return one.rule() == rule; });
    ASSERT_NE(found, delta->found.end()) << rule;
    EXPECT_EQ(found->affected_total(), kNodes) << found->title();
  }
  // The image is corrected on one node after the other.
  for (std::uint32_t n = 0; n + 1 < kNodes; ++n) {
    records[n].snapshot.mutable_node()->set_machine_id(Format("{}", n));
    ++records[n].version;
    engine.Put(records[n]);
  }
  while (!(delta = engine.TakePart(1'000))) continue;
  EXPECT_EQ(delta->gone.size(), 1U);
}

}  // namespace
}  // namespace fabric::rules
