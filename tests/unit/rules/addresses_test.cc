// ports_of_node_in_own_subnets, rail_subnet_equal, duplicate_ip, gid_index_equal_on_rail,
// gid_family_expected, rdma_cm_roce_v2
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/fleet/subnet.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using fleet::ParseSubnet;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using testing::PortOf;
using Node = v1::NodeSnapshot;

void SetSysctl(Node& node, const std::string& name, const std::string& value) {
  auto& sysctls = *node.mutable_host()->mutable_sysctls();
  const std::string whole = "net.ipv4.conf." + name;
  const auto known = std::find_if(sysctls.begin(), sysctls.end(),
                                  [&](const v1::Sysctl& sysctl) { return sysctl.name() == whole; });
  v1::Sysctl& sysctl = known == sysctls.end() ? *sysctls.Add() : *known;
  sysctl.set_name(whole);
  sysctl.set_value(value);
}

std::string AddressOf(Node& node, std::uint32_t rail) {
  const std::string& address = NetdevOf(node, rail).addresses(0);
  return address.substr(0, address.find('/'));
}

// Routes of main as the kernel makes them, and for some rails a table and a rule for the address.
void SetRules(Node& node, const std::vector<std::uint32_t>& rails) {
  node.mutable_routing()->set_routes_known(true);
  node.mutable_routing()->set_rules_known(true);
  const auto add = [&](std::uint32_t rail, std::uint32_t table) {
    v1::IpRoute& route = *node.add_ip_routes();
    route.set_destination("10.10.0.0/16");
    route.set_netdev(NetdevOf(node, rail).name());
    route.set_table(table);
  };
  for (std::uint32_t rail = 0; rail < 2; ++rail) add(rail, 254);
  for (const std::uint32_t rail : rails) {
    add(rail, 100 + rail);
    v1::IpRule& rule = *node.add_ip_rules();
    rule.set_priority(100 + rail);
    rule.set_from(AddressOf(node, rail) + "/32");
    rule.set_table(100 + rail);
  }
  v1::IpRule& rule = *node.add_ip_rules();
  rule.set_priority(32766);
  rule.set_table(254);
}

std::vector<std::string> UnknownsOf(const std::vector<Node>& nodes) {
  std::vector<std::string> unknowns;
  for (const std::string& one : Unknowns(nodes))
    if (one.starts_with("ports_of_node_in_own_subnets")) unknowns.push_back(one);
  return unknowns;
}

// All ports are in 10.10.0.0/16, with different addresses.
std::vector<Node> FlatNodes(std::uint32_t count) {
  auto nodes = Nodes(count, testing::RoceNode);
  for (Node& node : nodes) {
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      std::string& address = *NetdevOf(node, rail).mutable_addresses(0);
      address = address.substr(0, address.find('/')) + "/16";
    }
    for (const std::string netdev : {"all", "rail0", "rail1"}) {
      SetSysctl(node, netdev + ".arp_ignore", "0");
      SetSysctl(node, netdev + ".arp_announce", "0");
    }
  }
  return nodes;
}

TEST(ParseSubnet, AcceptsNetworksWithOtherHosts) {
  EXPECT_EQ(ToString(*ParseSubnet("10.10.3.7/24")), "10.10.3.0/24");
  EXPECT_EQ(ToString(*ParseSubnet("192.168.255.255/30")), "192.168.255.252/30");
  for (const char* text : {"", "10.10.3.7", "10.10.3.7/31", "10.10.3.7/32", "10.10.3.7/0",
                           "169.254.3.1/16", "fd00::1/64", "10.10.3/24", "10.10.3.256/24",
                           "10..3.7/24", "10.10.3.7/x", "10.10.3.7.1/24", "1000.1.1.1/24"})
    EXPECT_FALSE(ParseSubnet(text)) << text;
}

TEST(PortsOfNodeInOwnSubnets, FailsWithoutTheSysctls) {
  auto nodes = FlatNodes(1);
  SetRules(nodes[0], {});
  SetSysctl(nodes[0], "all.rp_filter", "0");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "ports_of_node_in_own_subnets");
  EXPECT_EQ(finding.title(),
            "rail0, rail1 are all in 10.10.0.0/16 with arp_ignore 0, arp_announce 0, expected "
            "arp_ignore 1 and arp_announce 2");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("net.ipv4.conf.all.arp_ignore=1"));
  EXPECT_THAT(finding.remedies(0).undo(),
              HasSubstr("net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.all.arp_announce=0"));
  SetSysctl(nodes[0], "all.arp_ignore", "1");
  SetSysctl(nodes[0], "rail0.arp_announce", "2");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("arp_ignore 1, arp_announce 0")) << "rail1";
  SetSysctl(nodes[0], "rail1.arp_announce", "2");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(UnknownsOf(nodes), IsEmpty());
  nodes[0].mutable_host()->clear_sysctls();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not known";
  EXPECT_THAT(UnknownsOf(nodes), ElementsAre("ports_of_node_in_own_subnets n1"));
}

// The settings of ARP, the reverse path filter and IP rules together decide which port answers.
TEST(PortsOfNodeInOwnSubnets, JudgesSettingsAndRulesTogether) {
  struct Row {
    const char* ignore;
    const char* announce;
    const char* filter;  // Empty: not reported
    const char* reverse_path;
    std::vector<std::uint32_t> rails_with_rules;
    bool rules_known;
    const char* expected;  // "pass", "unknown", or part of the title
  };
  const std::vector<Row> rows = {
      {"1", "2", "0", "0", {}, true, "pass"},
      {"1", "2", "0", "2", {}, true, "pass"},
      {"1", "2", "0", "1", {}, true, "rp_filter 1 and no IP rule for rail0"},
      {"1", "2", "0", "1", {0}, true, "rp_filter 1 and no IP rule for rail1"},
      {"1", "2", "0", "1", {0, 1}, true, "pass"},
      {"1", "2", "0", "1", {}, false, "unknown"},
      {"0", "0", "1", "1", {0, 1}, true, "pass"},
      {"0", "0", "1", "0", {0}, true, "arp_filter 1 and no IP rule for rail1"},
      {"0", "0", "1", "0", {}, false, "unknown"},
      {"0", "0", "0", "0", {0, 1}, true, "arp_ignore 0, arp_announce 0, expected"},
      {"0", "0", "", "0", {0, 1}, true, "unknown"},
      {"0", "0", "", "0", {}, true, "arp_ignore 0, arp_announce 0, expected"},
      {"0", "0", "", "0", {}, false, "unknown"},
      {"1", "1", "0", "2", {0, 1}, true, "pass"},
      {"1", "1", "0", "2", {}, true, "arp_ignore 1, arp_announce 1, expected"},
      {"1", "1", "0", "2", {}, false, "unknown"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(Format("ignore {} announce {} filter {} rp {} rules {} {}", row.ignore,
                        row.announce, row.filter, row.reverse_path, row.rails_with_rules.size(),
                        row.rules_known));
    auto nodes = FlatNodes(1);
    Node& node = nodes[0];
    node.mutable_host()->clear_sysctls();
    SetSysctl(node, "all.arp_ignore", row.ignore);
    SetSysctl(node, "all.arp_announce", row.announce);
    SetSysctl(node, "all.rp_filter", row.reverse_path);
    if (*row.filter != '\0') SetSysctl(node, "all.arp_filter", row.filter);
    SetRules(node, row.rails_with_rules);
    node.mutable_routing()->set_rules_known(row.rules_known);
    const std::string expected = row.expected;
    if (expected == "pass" || expected == "unknown")
      EXPECT_THAT(Failures(nodes), IsEmpty());
    else
      EXPECT_THAT(TheFailure(nodes).title(), HasSubstr(expected));
    EXPECT_EQ(UnknownsOf(nodes).size(), expected == "unknown" ? 1 : 0);
  }
}

TEST(PortsOfNodeInOwnSubnets, SkipsPortsInAVrf) {
  auto nodes = FlatNodes(1);
  SetRules(nodes[0], {});
  NetdevOf(nodes[0], 1).set_master("vrf1");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RailSubnetEqual, FailsForAnAddressOfAnotherRail) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetAddress(nodes[1], 0, "10.10.1.102");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rail_subnet_equal");
  EXPECT_EQ(finding.title(), "subnet 10.10.1.0/24, expected 10.10.0.0/24 (3 of 4 nodes on rail 0)");
  EXPECT_EQ(finding.remedies(0).command(), "") << "the address may be right, and the card moved";
  EXPECT_THAT(finding.remedies(0).note(), HasSubstr("give rail0 an address in 10.10.0.0/24"));
}

TEST(RailSubnetEqual, FailsForAWrongPrefixLength) {
  auto nodes = Nodes(3, testing::LabNode);
  NetdevOf(nodes[1], 0).set_addresses(0, "10.10.0.2/16");
  EXPECT_EQ(TheFailure(nodes).title(),
            "subnet 10.10.0.0/16, expected 10.10.0.0/24 (2 of 3 nodes on rail 0)");
}

TEST(RailSubnetEqual, SkipsOtherPartsOfARoutedFabric) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetAddress(nodes[3], 0, "10.20.0.4");
  testing::SetAddress(nodes[3], 1, "10.20.1.4");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_subnet_per_rail(true);
  EXPECT_THAT(Failures(nodes, Expecting(expect)),
              ElementsAre("rail_subnet_equal n4/rxe0/1", "rail_subnet_equal n4/rxe1/1"));
}

TEST(RailSubnetEqual, SkipsTwoNodesAndPortsWithoutAddresses) {
  auto nodes = Nodes(2, testing::LabNode);
  testing::SetAddress(nodes[1], 0, "10.20.0.2");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = Nodes(4, testing::LabNode);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) NetdevOf(node, rail).clear_addresses();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(DuplicateIp, FailsForIpoibAndIwarp) {
  for (const auto make : {testing::InfinibandNode, testing::IwarpNode}) {
    auto nodes = Nodes(3, make);
    NetdevOf(nodes[2], 0).set_addresses(0, NetdevOf(nodes[0], 0).addresses(0));
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), "duplicate_ip");
    EXPECT_THAT(finding.title(), HasSubstr("IP address 10.10.0.1 is on 2 ports"));
  }
}

// After a flap the link-local GID comes first.
TEST(GidIndexEqualOnRail, FailsForThePortWithAnotherIndex) {
  auto nodes = Nodes(3, testing::RoceNode);
  auto& gids = *PortOf(nodes[1], 0).mutable_gids();
  gids[2].set_index(4);
  gids[3].set_index(5);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "gid_index_equal_on_rail");
  EXPECT_EQ(finding.title(),
            "index of the routable RoCE v2 GID 5, expected 3 (2 of 3 nodes with ConnectX-7 on rail "
            "0)");
  testing::DropAddress(nodes[1], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("roce_v2_gid_present n2/mlx5_0/1"));
}

TEST(GidFamilyExpected, FailsForAnotherFamilyThanTheProfile) {
  v1::Expectations expect;
  expect.set_gid_family(v1::ADDRESS_FAMILY_IPV6);
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(), "RoCE v2 GIDs: IPv4 only, expected IPv6 (profile test)");
  expect.set_gid_family(v1::ADDRESS_FAMILY_IPV4);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  testing::DropAddress(nodes[0], 0);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).rule(), "roce_v2_gid_present");
}

TEST(RdmaCmRoceV2, FailsForVersionOneOnly) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  PortOf(nodes[0], 0).mutable_roce_defaults()->set_rdma_cm_mode("RoCE v2");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  PortOf(nodes[0], 0).mutable_roce_defaults()->set_rdma_cm_mode("IB/RoCE v1");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "RDMA-CM uses IB/RoCE v1, expected RoCE v2");
  EXPECT_EQ(finding.remedies(0).command(),
            "cd / && echo 'RoCE v2' > sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode");
}

}  // namespace
}  // namespace fabric::rules
