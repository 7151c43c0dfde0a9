// Routes, gateways, netdevs and VLANs of RoCE addresses: route_to_rail_peers, rail_gateway_answers,
// gid_netdev_of_port, roce_vlan_equal_on_rail; pkeys_distinct
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/testing/jobs.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::AddRoute;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using testing::PortOf;
using testing::RoceNode;
using Fleet = std::vector<v1::NodeSnapshot>;

// n1 and n2 on one leaf, n3 and n4 on another, with a gateway for each subnet of the rail.
Fleet TwoLeaves() {
  Fleet nodes = Nodes(4, RoceNode);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      const std::uint32_t part = i / 2;
      testing::SetAddress(nodes[i], rail, Format("10.{}.{}.{}", 20 + part, rail, i + 1));
      AddRoute(nodes[i], Format("10.{}.{}.0/24", 20 + part, rail), Format("rail{}", rail));
      AddRoute(nodes[i], Format("10.{}.{}.0/24", 21 - part, rail), Format("rail{}", rail),
               Format("10.{}.{}.254", 20 + part, rail));
    }
  return nodes;
}

TEST(RouteToRailPeers, PassesOverTheGatewayOfThePort) {
  EXPECT_THAT(Failures(TwoLeaves()), IsEmpty());
  EXPECT_THAT(Unknowns(TwoLeaves()), IsEmpty());
}

// Otherwise each link that goes down or up would cause all ports of the rail to be judged again.
TEST(RouteToRailPeers, TheOrderOfSubnetsDoesNotDependOnTheirPorts) {
  const auto rule =
      std::ranges::find(AllRules(), std::string_view("route_to_rail_peers"), &Rule::id);
  ASSERT_NE(rule, AllRules().end());
  const auto facts = [&](std::vector<std::pair<std::uint64_t, std::uint64_t>> subnets) {
    ValueCounts counts;
    for (const auto& [subnet, ports] : subnets) {
      counts.values.push_back({.value = {subnet}, .members = ports, .any = {}});
      counts.members += ports;
    }
    return (*rule)->group_rule->summarize(counts).facts;
  };
  EXPECT_THAT(facts({{7, 256}, {9, 256}, {5, 1}}), ElementsAre(7u, 9u));
  EXPECT_THAT(facts({{9, 256}, {7, 255}}), ElementsAre(7u, 9u));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> many;
  for (std::uint64_t subnet = 0; subnet < 100; ++subnet) many.push_back({subnet, 256});
  const std::vector<std::uint64_t> before = facts(many);
  many[10].second = 255;
  std::rotate(many.begin() + 10, many.begin() + 11, many.end());  // Largest first
  EXPECT_EQ(facts(many), before);
}

TEST(RouteToRailPeers, FailsWithoutARoute) {
  Fleet nodes = TwoLeaves();
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);  // Rail 1 to the other leaf
  EXPECT_EQ(TheFailure(nodes).title(),
            "route to 10.21.1.0/24 over rail1: no route, expected one (2 of 4 nodes on rail 1 are "
            "there)");
  EXPECT_EQ(TheFailure(nodes).subject().device(), "mlx5_1");
}

TEST(RouteToRailPeers, FailsForARouteOverAnotherNetdev) {
  Fleet nodes = TwoLeaves();
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);
  AddRoute(nodes[1], "0.0.0.0/0", "eth0", "192.168.0.1");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("a route over eth0 only"));
}

// The same with IPv6 addresses, /64 for each leaf and rail.
Fleet TwoLeavesOfIpv6() {
  Fleet nodes = Nodes(4, RoceNode);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      const std::string own = Format("fd00:{:x}:{}", 20 + i / 2, rail);
      const std::string other = Format("fd00:{:x}:{}", 21 - i / 2, rail);
      const std::string address = Format("{}::{}", own, i + 1);
      NetdevOf(nodes[i], rail).clear_addresses();
      NetdevOf(nodes[i], rail).add_addresses(address + "/64");
      for (v1::Gid& gid : *PortOf(nodes[i], rail).mutable_gids()) {
        if (gid.link_local()) continue;
        gid.clear_ipv4();
        gid.set_ipv6(address);
        gid.set_gid(
            Format("fd00:{:04x}:{:04x}:0000:0000:0000:0000:{:04x}", 20 + i / 2, rail, i + 1));
      }
      AddRoute(nodes[i], own + "::/64", Format("rail{}", rail));
      AddRoute(nodes[i], other + "::/64", Format("rail{}", rail), own + "::fe");
    }
  return nodes;
}

TEST(RouteToRailPeers, JudgesIpv6) {
  Fleet nodes = TwoLeavesOfIpv6();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);  // Rail 1 to the other leaf
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "route to fd00:15:1:0::/64 over rail1: no route, expected one (2 of 4 nodes on rail 1 "
            "are there)");
  EXPECT_THAT(finding.remedies(0).command(),
              HasSubstr("ip -6 route get fd00:15:1:0:: from fd00:14:1::2"));
  AddRoute(nodes[1], "::/0", "rail1", "fd00:14:1::fe");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RouteToRailPeers, DoesNotJudgeAPortInAVrf) {
  Fleet nodes = TwoLeaves();
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);
  NetdevOf(nodes[1], 1).set_master("vrf-rail1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RouteToRailPeers, AcceptsATableOfThePort) {
  Fleet nodes = TwoLeaves();
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);
  AddRoute(nodes[1], "0.0.0.0/0", "rail1", "10.20.1.254").set_table(101);
  v1::IpRule& rule = *nodes[1].add_ip_rules();
  rule.set_priority(100);
  rule.set_from("10.20.1.2/32");
  rule.set_table(101);
  v1::IpRule& main = *nodes[1].add_ip_rules();
  main.set_priority(32766);
  main.set_table(254);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RouteToRailPeers, IsUnknownWhereRulesCouldChangeIt) {
  Fleet nodes = TwoLeaves();
  nodes[1].mutable_ip_routes()->DeleteSubrange(3, 1);
  nodes[1].mutable_routing()->set_rules_known(false);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("route_to_rail_peers n2/mlx5_1/1"));
}

TEST(RouteToRailPeers, IgnoresASubnetOfOneNode) {
  Fleet nodes = Nodes(4, RoceNode);
  for (v1::NodeSnapshot& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      AddRoute(node, Format("10.10.{}.0/24", rail), Format("rail{}", rail));
  testing::SetAddress(nodes[3], 0, "10.99.0.4");
  nodes[3].mutable_ip_routes(0)->set_destination("10.99.0.0/24");
  EXPECT_THAT(Failures(nodes), ElementsAre("rail_subnet_equal n4/mlx5_0/1"));
}

TEST(RailGateway, FailsWhenItDoesNotAnswer) {
  Fleet nodes = TwoLeaves();
  v1::IpNeighbor& neighbor = *nodes[0].add_ip_neighbors();
  neighbor.set_address("10.20.0.254");
  neighbor.set_netdev("rail0");
  neighbor.set_state(v1::NEIGHBOR_STATE_FAILED);
  EXPECT_EQ(TheFailure(nodes).title(),
            "gateway 10.20.0.254 of rail0 does not answer, expected a MAC address");
  neighbor.set_state(v1::NEIGHBOR_STATE_RESOLVED);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(GidNetdev, FailsForANetdevThatIsNotOverThePort) {
  Fleet nodes = Nodes(1, RoceNode);
  v1::Gid& gid = *PortOf(nodes[0], 0).add_gids();
  gid = PortOf(nodes[0], 0).gids(3);
  gid.set_index(4);
  gid.set_netdev("eth0");
  EXPECT_EQ(TheFailure(nodes).title(),
            "GID 4 (10.10.0.1) belongs to eth0, expected rail0 or a netdev over it");
  NetdevOf(nodes[0], 0).add_uppers("eth0");
  for (v1::NetInterface& netdev : *nodes[0].mutable_net_interfaces()) netdev.set_mtu_bytes(9000);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RoceVlan, IsEqualOnARail) {
  Fleet nodes = Nodes(3, RoceNode, {.rails = 1});
  v1::NetInterface& vlan = *nodes[2].add_net_interfaces();
  vlan.set_name("rail0.7");
  vlan.mutable_vlan()->set_id(7);
  vlan.mutable_vlan()->set_lower("rail0");
  vlan.set_mtu_bytes(9000);
  NetdevOf(nodes[2], 0).add_uppers("rail0.7");
  PortOf(nodes[2], 0).mutable_gids(3)->set_netdev("rail0.7");
  EXPECT_THAT(Failures(nodes), ::testing::Contains("roce_vlan_equal_on_rail n3/mlx5_0/1"));
}

TEST(PkeysDistinct, FailsForAKeyThatIsThereTwice) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 1});
  v1::Port& port = PortOf(nodes[0], 0);
  port.add_pkeys(0x8001);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  port.add_pkeys(0x8001);
  for (const std::uint32_t index : {0, 1, 5}) port.add_pkey_indexes(index);
  EXPECT_EQ(TheFailure(nodes).title(),
            "P_Key 0x8001 is in the table more than once (indexes 1, 5), expected once");
}

}  // namespace
}  // namespace fabric::rules
