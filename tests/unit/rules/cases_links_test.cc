// Faults of links and InfiniBand in real clusters, as one or two snapshots. Each test expects the
// finding of the cause, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/counter_rates.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::Pair;
using testing::PortOf;
using Fleet = std::vector<v1::NodeSnapshot>;

// "Invalid argument" when queue pairs are created: libraries also use the Ethernet card.
TEST(Case, AnEthernetCardAmongInfinibandOnes) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 5});
  const v1::NodeSnapshot roce = testing::RoceNode({.rails = 5});
  *nodes[0].mutable_rdma_devices(4) = roce.rdma_devices(4);
  testing::NetdevOf(nodes[0], 4) = roce.net_interfaces(5);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "storage and front ends are built so";
  v1::Expectations expect;
  expect.set_protocol(v1::PROTOCOL_INFINIBAND);
  EXPECT_THAT(Failures(nodes, Expecting(expect)),
              ElementsAre("link_layer_equal_on_rail n1/mlx5_4/1"));
}

// The port was never configured by a subnet manager: LID 65535.
TEST(Case, APortThatIsDownWithAStrangeLid) {
  Fleet nodes = Nodes(3, testing::InfinibandNode);
  testing::LinkDown(nodes[0], 1);
  PortOf(nodes[0], 1).set_lid(65535);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/mlx5_1/1"));
}

// Error 12 sometimes in long runs, while all ports look up.
TEST(Case, ALinkThatFlaps) {
  for (const auto make : {testing::InfinibandNode, testing::RoceNode}) {
    Pair pair = testing::PairOf(Nodes(4, make), 1800);
    testing::Count(pair, 2, 0, "link_down_events", 4);
    testing::Count(pair, 2, 0, "symbol_errors", 60'000);
    const auto failures = FailuresBetween(pair.before, pair.after);
    EXPECT_THAT(failures, ElementsAre("link_stays_up n3/mlx5_0/1"));
  }
}

// Four of the cards on a 200 Gb/s switch have cables of the previous class.
TEST(Case, FourLinksOfAnOlderSpeed) {
  Fleet nodes = Nodes(20, testing::InfinibandNode, {.rails = 1});
  for (auto& node : nodes) {
    PortOf(node, 0).set_rate_bps(200'000'000'000);
    PortOf(node, 0).set_speed("HDR");
  }
  for (std::size_t i = 3; i < 7; ++i) {
    PortOf(nodes[i], 0).set_rate_bps(100'000'000'000);
    PortOf(nodes[i], 0).set_speed("EDR");
  }
  EXPECT_THAT(
      Failures(nodes),
      ElementsAre("link_speed_equal_on_rail n4/mlx5_0/1", "link_speed_equal_on_rail n5/mlx5_0/1",
                  "link_speed_equal_on_rail n6/mlx5_0/1", "link_speed_equal_on_rail n7/mlx5_0/1"));
}

// A marginal cable: nothing is down, everything is slow at times.
TEST(Case, ACableWithSymbolErrors) {
  Pair pair = testing::PairOf(Nodes(3, testing::InfinibandNode), 300);
  testing::Count(pair, 1, 0, "symbol_errors", 4000);
  EXPECT_THAT(FailuresBetween(pair.before, pair.after),
              ElementsAre("link_errors_within_limit n2/mlx5_0/1"));
}

// Traffic of one pair of nodes crosses the spines: two cables are swapped.
TEST(Case, SwappedCables) {
  Fleet nodes = Nodes(6, testing::RoceNode, {.rails = 8});
  testing::WireByRail(nodes);
  testing::NeighborOf(nodes[4], 2).Swap(&testing::NeighborOf(nodes[4], 5));
  testing::NeighborOf(nodes[4], 2).set_netdev("rail2");
  testing::NeighborOf(nodes[4], 5).set_netdev("rail5");
  EXPECT_THAT(Failures(nodes), ElementsAre("rail_on_expected_leaf n5"));
}

}  // namespace
}  // namespace fabric::rules
