#include "daemon/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "tests/testing/coverage.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"
#include "tests/unit/plan/pairs_of.h"

namespace fabric::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;

TEST(Plan, HasEveryPairOfEachRailOnceInTheFewestRounds) {
  for (std::uint32_t count = 2; count <= 33; ++count) {
    for (const std::uint64_t seed : {0U, 1U, 12345U}) {
      SCOPED_TRACE(Format("{} nodes, seed {}", count, seed));
      v1::CampaignSpec spec;
      spec.set_seed(seed);
      const auto plan = PlanFor(Nodes(count, testing::LabNode), spec);
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->rounds.size(), count % 2 == 0 ? count - 1 : count);
      EXPECT_THAT(plan->skipped, IsEmpty());
      const auto pairs = Pairs(*plan);
      EXPECT_EQ(pairs.size(), 2 * count * (count - 1) / 2) << "two rails";
      EXPECT_EQ(std::set<std::string>(pairs.begin(), pairs.end()).size(), pairs.size()) << "twice";
    }
  }
}

TEST(Plan, UsesNoPortTwiceInARoundAndPairsWithinRails) {
  for (std::uint32_t count = 2; count <= 33; ++count) {
    SCOPED_TRACE(count);
    const auto plan = PlanFor(Nodes(count, testing::LabNode, {.rails = 3}));
    ASSERT_TRUE(plan.ok());
    for (const auto& round : RoundsOf(*plan)) {
      std::set<std::string> busy;
      for (const PairTask& task : round) {
        EXPECT_TRUE(busy.insert(NameOf(task.from)).second);
        EXPECT_TRUE(busy.insert(NameOf(task.to)).second);
        EXPECT_EQ(task.from.rail(), task.to.rail());
        EXPECT_EQ(task.from.device(), Format("rxe{}", task.from.rail()));
        EXPECT_EQ(task.from.port(), 1U);
      }
    }
  }
}

TEST(Plan, PairsTheRightCardsWhenACardIsMissing) {
  auto nodes = Nodes(8, testing::RoceNode, {.rails = 8, .gpu = false});
  testing::RemoveCard(nodes[2], 3);
  const auto plan = PlanFor(nodes);
  ASSERT_TRUE(plan.ok());
  for (const auto& round : RoundsOf(*plan))
    for (const PairTask& task : round) EXPECT_EQ(task.from.device(), task.to.device());
  EXPECT_EQ(Pairs(*plan).size(), 7U * 28 + 21);
}

TEST(Plan, LetsEveryPortInitiateAboutHalfOfItsProbes) {
  const auto plan = PlanFor(Nodes(16, testing::LabNode, {.rails = 1}));
  ASSERT_TRUE(plan.ok());
  std::map<std::string, int> initiated;
  for (const auto& round : RoundsOf(*plan))
    for (const PairTask& task : round) ++initiated[NameOf(task.from)];
  EXPECT_EQ(initiated.size(), 16U);
  for (const auto& [port, times] : initiated) {
    EXPECT_GE(times, 5) << port;
    EXPECT_LE(times, 10) << port;
  }
}

TEST(Plan, IsTheSameForASeedWhateverTheOrderOfReports) {
  auto nodes = Nodes(9, testing::LabNode);
  v1::CampaignSpec spec;
  spec.set_seed(7);
  const auto plan = PlanFor(nodes, spec);
  std::reverse(nodes.begin(), nodes.end());
  EXPECT_EQ(Text(*plan), Text(*PlanFor(nodes, spec)));
  spec.set_seed(8);
  EXPECT_NE(Text(*plan), Text(*PlanFor(nodes, spec)));
}

TEST(Plan, TakesTheNodesAndRailsThatAreAskedFor) {
  v1::CampaignSpec spec;
  spec.add_nodes("n2");
  spec.add_nodes("n4");
  spec.add_rails(1);
  const auto plan = PlanFor(Nodes(4, testing::LabNode), spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(Pairs(*plan), ElementsAre("n2/rxe1 n4/rxe1"));
  EXPECT_THAT(plan->skipped, IsEmpty()) << "what was not asked for is not skipped";
}

TEST(Plan, SkipsPortsThatCannotBeProbedAndSaysWhy) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::LinkDown(nodes[3], 0);
  testing::DropAddress(nodes[1], 0);
  for (const int i : {0, 1, 2}) testing::LinkDown(nodes[static_cast<std::size_t>(i)], 1);
  const auto plan = PlanFor(nodes);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/rxe0 n3/rxe0"));
  EXPECT_THAT(testing::Texts(plan->skipped),
              ElementsAre("n2/rxe0/1: port has no usable GID", "n4/rxe0/1: port is DOWN",
                          "n1/rxe1/1: port is DOWN", "n2/rxe1/1: port is DOWN",
                          "n3/rxe1/1: port is DOWN", "n4/rxe1/1: no partner on rail 1"));
}

TEST(Plan, DoesNotPairInfinibandWithEthernet) {
  std::vector<v1::NodeSnapshot> nodes;
  for (std::uint32_t number = 1; number <= 5; ++number) {
    const auto make = number <= 2 ? testing::InfinibandNode : testing::RoceNode;
    nodes.push_back(make({.number = number, .rails = 1}));
  }
  const auto plan = PlanFor(nodes);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(Pairs(*plan), ElementsAre("n1/mlx5_0 n2/mlx5_0", "n3/mlx5_0 n4/mlx5_0",
                                        "n3/mlx5_0 n5/mlx5_0", "n4/mlx5_0 n5/mlx5_0"));
  EXPECT_EQ(plan->rounds.size(), 3U);
}

TEST(Plan, NamesAnUnknownNodeOrRail) {
  v1::CampaignSpec spec;
  spec.add_nodes("n22");
  Status status = PlanFor(Nodes(3, testing::LabNode), spec).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("'n22'"));
  spec.clear_nodes();
  spec.add_rails(2);
  status = PlanFor(Nodes(3, testing::LabNode), spec).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "rails: unknown rail 2; the connected nodes have 0 to 1");
}

TEST(Plan, SaysWhyThereIsNothingToProbe) {
  EXPECT_EQ(PlanFor({}).status(),
            Status(Code::kFailedPrecondition, "nothing to probe: no node is connected"));
  EXPECT_EQ(PlanFor(Nodes(1, testing::LabNode)).status(),
            Status(Code::kFailedPrecondition,
                   "nothing to probe: n1/rxe0/1: no partner on rail 0; "
                   "n1/rxe1/1: no partner on rail 1"));
  EXPECT_EQ(PlanFor(Nodes(2, testing::IwarpNode)).status(),
            Status(Code::kFailedPrecondition,
                   "nothing to probe: n1/irdma0/1: iWARP is not supported; "
                   "n2/irdma0/1: iWARP is not supported; "
                   "n1/irdma1/1: iWARP is not supported and 1 more"));
}

}  // namespace
}  // namespace fabric::plan
