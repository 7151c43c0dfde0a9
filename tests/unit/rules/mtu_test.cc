// mtu_equal_on_rail, rdma_mtu_matches_netdev, rdma_mtu_expected and vlan_mtu_not_below_lower
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rules/links/links.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::PortOf;

TEST(RdmaMtuWithin, IsTheLargestStepThatFits) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> table = {
      {0, 256},     {1404, 1024}, {2047, 1024}, {2048, 2048},
      {4095, 2048}, {4096, 4096}, {8904, 4096}, {65535, 4096}};
  for (const auto& [bytes, mtu] : table) EXPECT_EQ(RdmaMtuWithin(bytes), mtu) << bytes;
}

TEST(MtuEqualOnRail, NamesBothValuesAndTheMajority) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::SetMtu(nodes[1], 0, 1500);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "netdev MTU 1500, expected 4200 (2 of 3 nodes on rail 0)");
  ASSERT_EQ(finding.evidence_size(), 2);
  EXPECT_EQ(finding.evidence(0).source(), "sys/class/net/rail0/mtu");
  EXPECT_EQ(finding.evidence(0).read_at().seconds(), 1'700'000'002);
  EXPECT_EQ(finding.evidence(1).what(), "active RDMA MTU");
  EXPECT_EQ(finding.evidence(1).expected(), "4096");
  EXPECT_EQ(finding.evidence(1).seen(), "1024");
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail0 mtu 4200");
  EXPECT_TRUE(finding.remedies(0).interrupts_traffic());
}

TEST(MtuEqualOnRail, ReportsTheRailWithoutAMajority) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetMtu(nodes[0], 1, 1500);
  testing::SetMtu(nodes[2], 1, 1500);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "mtu_equal_on_rail");
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_RAIL);
  EXPECT_EQ(finding.subject().rail(), 1U);
  EXPECT_EQ(finding.subject().node(), "");
  EXPECT_EQ(finding.title(), "values of netdev MTU differ: 1500 on n1, n3; 4200 on n2, n4");
  EXPECT_EQ(finding.evidence_size(), 2);
  EXPECT_EQ(finding.evidence(1).basis(), "2 of 4 nodes on rail 1, no majority");
}

TEST(MtuEqualOnRail, TheMostFrequentOfManyValuesIsNoMajority) {
  auto nodes = Nodes(5, testing::LabNode, {.rails = 1});
  for (std::uint32_t i = 2; i < 5; ++i) testing::SetMtu(nodes[i], 0, 9000 + i);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_RAIL);
  EXPECT_EQ(finding.title(),
            "values of netdev MTU differ: 4200 on n1, n2; 9002 on n3; 9003 on n4; 9004 on n5");
  EXPECT_EQ(finding.evidence(0).basis(), "2 of 5 nodes on rail 0, no majority");
  testing::SetMtu(nodes[2], 0, 4200);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("mtu_equal_on_rail n4/rxe0/1", "mtu_equal_on_rail n5/rxe0/1"));
}

TEST(MtuEqualOnRail, NamesAFewOfManyNodesAndValues) {
  auto nodes = Nodes(12, testing::LabNode, {.rails = 1});
  for (std::uint32_t i = 0; i < 12; ++i) testing::SetMtu(nodes[i], 0, i < 6 ? 9000 : 9216);
  EXPECT_EQ(TheFailure(nodes).title(),
            "values of netdev MTU differ: 9000 on n1, n2, n3, n4 and 2 more; "
            "9216 on n10, n11, n12, n7 and 2 more");
  for (std::uint32_t i = 0; i < 12; ++i) testing::SetMtu(nodes[i], 0, 9000 + i);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.evidence_size(), 4);
  EXPECT_THAT(finding.title(), ::testing::EndsWith("9003 on n4; and 8 more values"));
}

TEST(MtuEqualOnRail, ReportsEachPortThatDeviates) {
  auto nodes = Nodes(5, testing::LabNode);
  testing::SetMtu(nodes[0], 0, 1500);
  testing::SetMtu(nodes[4], 0, 9000);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("mtu_equal_on_rail n1/rxe0/1", "mtu_equal_on_rail n5/rxe0/1"));
}

TEST(MtuEqualOnRail, RailsMayDiffer) {
  auto nodes = Nodes(3, testing::LabNode);
  for (auto& node : nodes) testing::SetMtu(node, 1, 9000);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(MtuEqualOnRail, ComparesTheActiveMtuOnInfiniband) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  for (auto& node : nodes) testing::NetdevOf(node, 0).set_mtu_bytes(65520);  // Of IPoIB
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::PortOf(nodes[1], 0).set_active_mtu_bytes(2048);
  EXPECT_EQ(TheFailure(nodes).title(),
            "active RDMA MTU 2048, expected 4096 (2 of 3 nodes on rail 0)");
}

TEST(MtuEqualOnRail, IsUnknownWithoutTheNetdevsMtu) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::NetdevOf(nodes[1], 0).clear_mtu_bytes();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("mtu_equal_on_rail n2/rxe0/1"));
}

TEST(RdmaMtuMatchesNetdev, FailsForTheMtuThatLooksLike4096) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) testing::SetMtu(node, 0, 4096);
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_mtu_matches_netdev n1/mlx5_0/1",
                                           "rdma_mtu_matches_netdev n2/mlx5_0/1"));
  const v1::Finding finding = Judge(nodes).findings[0];
  EXPECT_EQ(finding.title(),
            "netdev MTU 4096 gives an RDMA MTU of 2048, expected 4096, which needs 4192");
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail0 mtu 4192");
}

TEST(RdmaMtuMatchesNetdev, AllowsDriversThatLeaveLessRoomForHeaders) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  testing::SetMtu(nodes[0], 0, 4180);
  testing::PortOf(nodes[0], 0).set_active_mtu_bytes(4096);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RdmaMtuMatchesNetdev, AllowsTheMaximumOfTheDevice) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  testing::PortOf(nodes[0], 0).set_max_mtu_bytes(2048);
  testing::PortOf(nodes[0], 0).set_active_mtu_bytes(2048);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RdmaMtuMatchesNetdev, FailsForAnRdmaMtuThatIsTooLarge) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  testing::SetMtu(nodes[0], 0, 1500);
  testing::PortOf(nodes[0], 0).set_active_mtu_bytes(4096);
  EXPECT_EQ(TheFailure(nodes).title(), "active RDMA MTU 4096, expected 1024 over netdev MTU 1500");
}

TEST(RdmaMtuMatchesNetdev, IsUnknownWithoutVerbs) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  testing::PortOf(nodes[0], 0).clear_active_mtu_bytes();
  EXPECT_THAT(Unknowns(nodes), ElementsAre("rdma_mtu_matches_netdev n1/rxe0/1"));
}

v1::Expectations RdmaMtu(std::uint32_t bytes) {
  v1::Expectations expect;
  expect.set_rdma_mtu_bytes(bytes);
  return expect;
}

TEST(RdmaMtuExpected, FailsForASmallRail) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))), IsEmpty());
  for (auto& node : nodes) testing::SetMtu(node, 0, 1500);
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_mtu_of_fast_link n1/mlx5_0/1",
                                           "rdma_mtu_of_fast_link n2/mlx5_0/1"));
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ElementsAre("rdma_mtu_expected n1/mlx5_0/1", "rdma_mtu_expected n2/mlx5_0/1"));
  const v1::Finding finding = Judge(nodes, Expecting(RdmaMtu(4096))).findings[0];
  EXPECT_EQ(finding.title(), "RDMA MTU 1024, expected at least 4096 (profile test)");
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail0 mtu 4192");
}

TEST(RdmaMtuExpected, SkipsAPortThatDiffers) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  testing::SetMtu(nodes[1], 0, 1500);
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ElementsAre("mtu_equal_on_rail n2/mlx5_0/1"));
  for (auto& node : nodes) testing::SetMtu(node, 0, 4096);
  EXPECT_THAT(Failures(nodes, Expecting(RdmaMtu(4096))),
              ::testing::Each(::testing::HasSubstr("rdma_mtu_matches_netdev")));
}

TEST(RdmaMtuExpected, ComparesTheNetdevMtu) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_netdev_mtu_min_bytes(9200);
  EXPECT_EQ(Judge(nodes, Expecting(expect)).findings[0].title(),
            "netdev MTU 9000, expected at least 9200 (profile test)");
}

TEST(VlanMtu, JudgesTheVlanOfRdma) {
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

TEST(VlanMtu, JudgesEveryVlanWithAGidExceptThatOfTheDefaultRoute) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  v1::NetInterface& vlan = *nodes[0].add_net_interfaces();
  vlan.set_name("rail0.200");
  vlan.mutable_vlan()->set_id(200);
  vlan.mutable_vlan()->set_lower("rail0");
  vlan.set_mtu_bytes(1500);
  v1::Gid& gid = *PortOf(nodes[0], 0).add_gids();
  gid.set_index(9);
  gid.set_gid("::ffff:10.20.0.1");
  gid.set_ipv4("10.20.0.1");
  gid.set_type(v1::GID_TYPE_ROCE_V2);
  gid.set_netdev("rail0.200");
  EXPECT_THAT(Failures(nodes), ElementsAre("vlan_mtu_not_below_lower n1/mlx5_0/1"));
  v1::IpRoute& route = *nodes[0].add_ip_routes();
  route.set_destination("0.0.0.0/0");
  route.set_netdev("rail0.200");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
