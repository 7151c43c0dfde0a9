#include "proto/routes.h"

#include <gmock/gmock.h>

namespace fabric {
namespace {

TEST(IpPrefix, ContainsItsAddresses) {
  const auto contains = [](const char* outer, const char* inner) {
    return Contains(*ParseIpPrefix(outer), *ParseIpPrefix(inner));
  };
  EXPECT_TRUE(contains("10.10.0.0/23", "10.10.1.77"));
  EXPECT_TRUE(contains("10.10.0.0/23", "10.10.1.0/24"));
  EXPECT_FALSE(contains("10.10.0.0/24", "10.10.1.77"));
  EXPECT_FALSE(contains("10.10.1.0/24", "10.10.0.0/23"));
  EXPECT_TRUE(contains("0.0.0.0/0", "10.10.1.77"));
  EXPECT_FALSE(contains("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(contains("fd00:0:0:1::/64", "fd00:0:0:1::9"));
  EXPECT_FALSE(contains("fd00:0:0:1::/64", "fd00:0:0:2::9"));
  for (const char* bad : {"", "10.10.0", "10.10.0.0/33", "fd00::/129", "10.10.0.0/x", "rail0"})
    EXPECT_FALSE(ParseIpPrefix(bad)) << bad;
}

class RouteLookup : public ::testing::Test {
 protected:
  v1::IpRoute& Route(const char* destination, const char* netdev, std::uint32_t table = 254) {
    v1::IpRoute& route = *snapshot_.add_ip_routes();
    route.set_destination(destination);
    route.set_netdev(netdev);
    route.set_table(table);
    return route;
  }
  v1::IpRule& Rule(std::uint32_t priority, const char* from, std::uint32_t table) {
    v1::IpRule& rule = *snapshot_.add_ip_rules();
    rule.set_priority(priority);
    rule.set_from(from);
    rule.set_table(table);
    return rule;
  }
  std::string From(const char* source, const char* destination) {
    const v1::IpRoute* const route = RouteFrom(snapshot_, source, destination);
    return route == nullptr ? "none" : route->netdev();
  }

  v1::NodeSnapshot snapshot_;
};

TEST_F(RouteLookup, TakesTheLongestPrefixThenTheSmallestMetric) {
  Route("0.0.0.0/0", "eth0");
  Route("10.10.0.0/16", "rail1").set_metric(200);
  Route("10.10.0.0/16", "rail0").set_metric(100);
  Route("10.10.0.0/24", "rail2");
  EXPECT_EQ(From("10.10.0.1", "10.10.0.9"), "rail2");
  EXPECT_EQ(From("10.10.0.1", "10.10.7.9"), "rail0");
  EXPECT_EQ(From("10.10.0.1", "192.168.0.1"), "eth0");
  EXPECT_EQ(MainRouteTo(snapshot_, "10.10.7.9")->netdev(), "rail0");
}

TEST_F(RouteLookup, FollowsTheRuleOfTheSource) {
  Route("0.0.0.0/0", "eth0");
  Route("0.0.0.0/0", "rail0", 100);
  Rule(100, "10.10.0.1/32", 100);
  Rule(32766, "", 254);
  EXPECT_EQ(From("10.10.0.1", "10.20.0.1"), "rail0");
  EXPECT_EQ(From("10.10.1.1", "10.20.0.1"), "eth0");
  v1::IpRule& marked = Rule(50, "", 7);
  marked.set_mark(1);
  EXPECT_EQ(From("10.10.0.1", "10.20.0.1"), "rail0") << "packets of RDMA have no mark";
}

TEST_F(RouteLookup, OfAQueuePairStaysOnItsNetdev) {
  Route("0.0.0.0/0", "eth0");
  Route("10.10.0.0/24", "rail0");
  EXPECT_EQ(RouteOver(snapshot_, "rail0", "10.10.0.1", "10.10.1.0/24"), nullptr);
  ASSERT_NE(RouteOver(snapshot_, "rail0", "10.10.0.1", "10.10.0.7"), nullptr);
  Route("10.10.0.0/16", "rail0");
  EXPECT_NE(RouteOver(snapshot_, "rail0", "10.10.0.1", "10.10.1.0/24"), nullptr);
}

TEST_F(RouteLookup, EndsAtABlackhole) {
  Route("0.0.0.0/0", "rail0");
  Route("10.20.0.0/16", "").set_type("blackhole");
  EXPECT_EQ(From("10.10.0.1", "10.20.0.1"), "none");
  EXPECT_EQ(RouteOver(snapshot_, "rail0", "10.10.0.1", "10.20.0.1"), nullptr);
}

TEST_F(RouteLookup, KnowsIpv6) {
  Route("fd00:0:0:1::/64", "rail1");
  Route("::/0", "eth0");
  Rule(32766, "", 254).set_ipv6(true);
  EXPECT_EQ(From("fd00:0:0:1::5", "fd00:0:0:1::9"), "rail1");
  EXPECT_EQ(From("fd00:0:0:1::5", "fd00:0:0:2::9"), "eth0");
}

TEST(StackedNetdevs, AreFoundThroughBondsAndVlans) {
  v1::NodeSnapshot snapshot;
  for (const auto& [name, upper] :
       {std::pair("eth0", "bond0"), std::pair("bond0", "bond0.7"), std::pair("bond0.7", "")}) {
    v1::NetInterface& netdev = *snapshot.add_net_interfaces();
    netdev.set_name(name);
    if (*upper != '\0') netdev.add_uppers(upper);
  }
  EXPECT_TRUE(IsOrIsAbove(snapshot, "eth0", "bond0.7"));
  EXPECT_TRUE(IsOrIsAbove(snapshot, "eth0", "eth0"));
  EXPECT_FALSE(IsOrIsAbove(snapshot, "bond0.7", "eth0"));
}

}  // namespace
}  // namespace fabric
