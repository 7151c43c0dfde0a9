// Plan and judgement of a large mesh, in steps and in the background.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <string>

#include "daemon/control/mesh/mesh_judgement.h"
#include "daemon/control/mesh/mesh_layout.h"
#include "tests/testing/held_background.h"
#include "tests/testing/nodes.h"
#include "tests/unit/control/mesh_world.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

constexpr std::uint32_t kNodesOfMesh = 70;  // Of two ports each: a large mesh

class LargeMesh : public MeshWorld {
 protected:
  LargeMesh() : MeshWorld({.mesh = {.on = true, .paths = 4}, .background = &background}) {}

  // Runs what waits, as often as it comes.
  void Settle(int seconds) {
    for (int n = 0; n < 10 * seconds; ++n) {
      background.Run();
      world.agents.Advance(100ms);
    }
  }
  void Begin() {
    Connect(kNodesOfMesh);
    for (std::uint32_t n = 1; n <= kNodesOfMesh; ++n) TellEndpoints(Format("n{}", n), 100 * n);
    Settle(15);
  }

  testing::HeldBackground background;
};

TEST_F(LargeMesh, IsPlannedInTheBackground) {
  Connect(kNodesOfMesh);
  world.agents.Advance(20s);
  ASSERT_EQ(background.waiting(), 1U) << "it is asked once";
  EXPECT_EQ(world.agents.mesh_orders("n1"), 0U);
  EXPECT_THAT(NotCovered(), IsEmpty());
  background.Run();
  world.agents.Advance(1s);
  EXPECT_EQ(world.agents.mesh_orders("n1"), 1U);
  EXPECT_EQ(NotCovered().size(), 2 * kNodesOfMesh) << "no agent has joined";
}

TEST_F(LargeMesh, ANodeThatIsLostWhileItIsPlannedIsLeftOutOfTheNextPlan) {
  Begin();
  ASSERT_EQ(Status().ports(), 2 * kNodesOfMesh);
  TellEndpoints("n1", 9'000);
  world.agents.Advance(10s);
  ASSERT_GE(background.waiting(), 1U);
  world.agents.Disconnect("n2", "powered off");
  background.Run();
  world.agents.Advance(1s);
  EXPECT_EQ(Status().ports(), 2 * kNodesOfMesh) << "planned as it was";
  for (const auto& target : world.agents.mesh_assignment("n1").ports(0).targets())
    EXPECT_NE(target.remote().node(), "n2") << "but not pinged";
  Settle(15);
  EXPECT_EQ(Status().ports(), 2 * kNodesOfMesh - 2);
}

TEST_F(LargeMesh, WindowsCountWhileItIsJudged) {
  Begin();
  PassWindows(kNodesOfMesh, 1);
  ASSERT_GE(background.waiting(), 1U);
  const std::uint64_t before = Status().windows();
  PassWindows(kNodesOfMesh, 3, "n3", 20);
  EXPECT_EQ(Status().windows(), before) << "the judgement waits";
  EXPECT_EQ(Status().blame().suspects_size(), 0);
  Settle(20);
  const v1::BlameReport report = Status().blame();
  ASSERT_EQ(report.undecided_size(), 1) << "between the port and its host";
  EXPECT_EQ(report.undecided(0).suspects(0).name(), "n3/mlx5_0/1");
}

TEST_F(LargeMesh, CountsStayWhenThePlanChanges) {
  Begin();
  PassWindows(kNodesOfMesh, 3, "n3", 20);
  Settle(12);
  const std::uint64_t lost = Status().leaf_pairs(0).lost();
  EXPECT_GT(lost, 0U);
  world.agents.Disconnect("n9", "powered off");
  Settle(30);
  EXPECT_EQ(Status().ports(), 2 * kNodesOfMesh - 2);
  EXPECT_EQ(Status().leaf_pairs(0).lost(), lost);
}

MeshLayout LayoutOf(std::mt19937& random) {
  MeshLayout layout;
  std::vector<plan::Port> ports;
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    for (std::uint32_t node = 1; node <= 12; ++node) {
      if (random() % 3 == 0) continue;
      plan::Port& port = ports.emplace_back();
      port.port = MeshPortOf(Format("n{}", 10 + node), rail);
      port.leaf = static_cast<plan::LeafIndex>(random() % 3);
    }
  layout.candidates = ports;
  layout.plan = plan::MakeMesh(std::move(ports), {"a", "b", "c"}, {.paths = 4});
  layout.Index();
  return layout;
}

using Pairs = std::map<std::pair<std::string, std::string>, std::size_t>;

Pairs PairsOf(const MeshLayout& layout) {
  Pairs pairs;
  for (std::size_t n = 0; n < layout.plan.pairs.size(); ++n) {
    const plan::Pair& pair = layout.plan.pairs[n].ports;
    pairs.emplace(std::pair(plan::PortName(layout.plan.ports[pair.from].port),
                            plan::PortName(layout.plan.ports[pair.to].port)),
                  n);
  }
  return pairs;
}

TEST(MeshLayout, FindsPairsByTheNamesOfTheirPorts) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const MeshLayout before = LayoutOf(random);
    const MeshLayout now = LayoutOf(random);
    const Pairs known = PairsOf(before);
    const EarlierPairs earlier = EarlierPairsOf(now, before);
    ASSERT_EQ(earlier.size(), now.plan.pairs.size());
    for (const auto& [ends, n] : PairsOf(now)) {
      EXPECT_EQ(now.Find(ends.first, ends.second), n);
      const auto was = known.find(ends);
      ASSERT_EQ(earlier[n].has_value(), was != known.end());
      if (was != known.end()) {
        EXPECT_EQ(*earlier[n], was->second);
      }
    }
    EXPECT_FALSE(now.Find("n11/mlx5_0/1", "n11/mlx5_0/1").has_value());
    EXPECT_FALSE(now.Find("n99/mlx5_0/1", "n11/mlx5_0/1").has_value());
  }
}

TEST(MeshJudgement, ReadsManyPairsInParts) {
  MeshLayout layout;
  std::vector<plan::Port> ports(10'000);
  for (std::uint32_t n = 0; n < ports.size(); ++n) {
    ports[n].port = MeshPortOf(Format("n{:05}", n), 0);
    ports[n].leaf = 0;
  }
  layout.plan = plan::MakeMesh(std::move(ports), {"a"}, {.paths = 4});
  layout.Index();
  v1::PingSummary ping;
  ping.set_sent(100);
  ping.set_answered(100);
  std::vector<MeshCounts> counts(layout.plan.pairs.size());
  for (MeshCounts& pair : counts) pair.Add(ping, false);
  MeshJudgement judgement(layout);
  std::uint32_t steps = 2;
  while (judgement.Count(counts)) ++steps;
  while (judgement.Collect(counts)) ++steps;
  EXPECT_GE(steps, counts.size() / 4'096);
  judgement.Ask({}, {});
  ASSERT_EQ(judgement.answer.leaf_pairs.size(), 1U);
  EXPECT_EQ(judgement.answer.leaf_pairs[0].sent(), 100 * counts.size());
  EXPECT_EQ(judgement.answer.report.suspects_size(), 0);
}

}  // namespace
}  // namespace fabric::control
