// rdma_mtu_expected and vlan_mtu_not_below_lower
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::PortOf;

v1::Expectations RdmaMtu(std::uint32_t bytes) {
  v1::Expectations expect;
  expect.set_rdma_mtu_bytes(bytes);
  return expect;
}

TEST(RdmaMtuExpected, FailsWhereAWholeRailIsSmall) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))), IsEmpty());
  for (auto& node : nodes) testing::SetMtu(node, 0, 1500);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ElementsAre("rdma_mtu_expected n1/mlx5_0/1", "rdma_mtu_expected n2/mlx5_0/1"));
  const v1::Finding finding = Judge(nodes, Expecting(RdmaMtu(4096))).findings[0];
  EXPECT_EQ(finding.title(), "RDMA MTU 1024, expected at least 4096 (profile test)");
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail0 mtu 4192");
}

TEST(RdmaMtuExpected, OneOddPortIsOneFinding) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  testing::SetMtu(nodes[1], 0, 1500);
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ElementsAre("mtu_equal_on_rail n2/mlx5_0/1"));
  for (auto& node : nodes) testing::SetMtu(node, 0, 4096);
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ::testing::Each(::testing::HasSubstr("rdma_mtu_matches_netdev")));
}

TEST(RdmaMtuExpected, KnowsThatOfTheNetdevToo) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_netdev_mtu_min_bytes(9200);
  EXPECT_EQ(Judge(nodes, Expecting(expect)).findings[0].title(),
            "netdev MTU 9000, expected at least 9200 (profile test)");
}

TEST(VlanMtu, JudgesTheOneThatRdmaRunsOver) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  v1::NetInterface& vlan = *nodes[0].add_net_interfaces();
  vlan.set_name("rail0.100");
  vlan.mutable_vlan()->set_id(100);
  vlan.mutable_vlan()->set_lower("rail0");
  vlan.set_mtu_bytes(1500);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "jobs use rail0 itself";
  for (auto& gid : *PortOf(nodes[0], 0).mutable_gids())
    if (!gid.link_local()) gid.set_netdev("rail0.100");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "vlan_mtu_not_below_lower");
  EXPECT_EQ(finding.title(), "MTU of rail0.100 1500, expected 9000 as of rail0");
}

}  // namespace
}  // namespace fabric::rules
