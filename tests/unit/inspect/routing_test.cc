// Routes, rules and neighbors: routing, and its parsers.
#include <gmock/gmock.h>

#include "agents/inspect/parse/route_texts.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Text(const v1::IpRoute& route) {
  return Format("{} dev {} via {} table {} metric {}{}", route.destination(), route.netdev(),
                route.gateway(), route.table(), route.metric(),
                route.type().empty() ? "" : " " + route.type());
}

template <class Routes>
std::vector<std::string> Texts(const Routes& routes) {
  std::vector<std::string> texts;
  for (const v1::IpRoute& route : routes) texts.push_back(Text(route));
  return texts;
}

TEST(IpRoutes, AreParsedWithTablesAndNextHops) {
  const TableNames names = ParseTableNames("# reserved\n255\tlocal\n101 rail0\n");
  const auto routes = ParseIpRoutes(
      "default via 10.0.0.1 dev eth0 proto dhcp src 10.0.0.5 metric 100 \n"
      "default via 10.10.0.254 dev rail0 table rail0 \n"
      "10.10.0.0/24 dev rail0 proto kernel scope link src 10.10.0.1 mtu 9000 hoplimit 64 \n"
      "10.30.0.0/16 proto bgp metric 20 \n"
      "\tnexthop via 10.10.0.254 dev rail0 weight 1 \n"
      "\tnexthop via inet6 fe80::1 dev rail1 weight 1 \n"
      "unreachable 10.99.0.0/16 table 7 \n"
      "local 10.10.0.1 dev rail0 table local proto kernel scope host src 10.10.0.1 \n"
      "broadcast 10.10.0.255 dev rail0 table local \n"
      "10.77.0.1 dev rail0 scope link \n"
      "169.254.0.0/16 dev eth0 scope link \n"
      "something else\n",
      false, names);
  EXPECT_THAT(Texts(routes),
              ElementsAre("0.0.0.0/0 dev eth0 via 10.0.0.1 table 254 metric 100",
                          "0.0.0.0/0 dev rail0 via 10.10.0.254 table 101 metric 0",
                          "10.10.0.0/24 dev rail0 via  table 254 metric 0",
                          "10.30.0.0/16 dev rail0 via 10.10.0.254 table 254 metric 20",
                          "10.30.0.0/16 dev rail1 via fe80::1 table 254 metric 20",
                          "10.99.0.0/16 dev  via  table 7 metric 0 unreachable",
                          "10.77.0.1/32 dev rail0 via  table 254 metric 0"));
  EXPECT_EQ(routes[2].mtu_bytes(), 9000U);
  EXPECT_EQ(routes[2].hop_limit(), 64U);
  EXPECT_EQ(routes[2].source(), "10.10.0.1");
  EXPECT_THAT(Texts(ParseIpRoutes("fd00:0:0:1::/64 dev rail0 proto kernel metric 256 pref medium\n"
                                  "fe80::/64 dev rail0 proto kernel metric 256\n"
                                  "default via fd00::1 dev rail0\n",
                                  true, names)),
              ElementsAre("fd00:0:0:1::/64 dev rail0 via  table 254 metric 256",
                          "::/0 dev rail0 via fd00::1 table 254 metric 0"));
}

TEST(IpRules, AreParsedWithSelectors) {
  const auto rules = ParseIpRules(
      "0:\tfrom all lookup local \n"
      "100:\tfrom 10.10.0.1 lookup 101 \n"
      "101:\tfrom all fwmark 0x1/0xff iif eth0 lookup 7 \n"
      "102:\tfrom all to 10.20.0.0/16 unreachable \n"
      "32766:\tfrom all lookup main \n",
      false, ParseTableNames(""));
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(rules[0].from(), "10.10.0.1/32");
  EXPECT_EQ(rules[0].table(), 101U);
  EXPECT_EQ(rules[1].mark(), 1U);
  EXPECT_EQ(rules[1].input_netdev(), "eth0");
  EXPECT_EQ(rules[2].action(), "unreachable");
  EXPECT_EQ(rules[2].to(), "10.20.0.0/16");
  EXPECT_EQ(rules[3].table(), 254U);
}

TEST(Neighbors, AreParsedOfIpAndProc) {
  const auto neighbors = ParseIpNeighbors(
      "10.10.0.2 dev rail0 lladdr 52:54:00:00:00:02 STALE \n"
      "10.10.0.254 dev rail0  FAILED\n"
      "fd00::1 dev rail0 lladdr 52:54:00:00:00:03 router REACHABLE\n"
      "10.10.0.3 dev rail0 lladdr 52:54:00:00:00:04 PERMANENT\n");
  ASSERT_EQ(neighbors.size(), 4U);
  EXPECT_EQ(neighbors[0].state(), v1::NEIGHBOR_STATE_RESOLVED);
  EXPECT_EQ(neighbors[0].mac(), "52:54:00:00:00:02");
  EXPECT_EQ(neighbors[1].state(), v1::NEIGHBOR_STATE_FAILED);
  EXPECT_EQ(neighbors[2].state(), v1::NEIGHBOR_STATE_RESOLVED);
  EXPECT_EQ(neighbors[3].state(), v1::NEIGHBOR_STATE_PERMANENT);
  const auto arp = ParseProcArp(
      "IP address       HW type     Flags       HW address            Mask     Device\n"
      "10.10.0.2        0x1         0x2         52:54:00:00:00:02     *        rail0\n"
      "10.10.0.254      0x1         0x0         00:00:00:00:00:00     *        rail0\n");
  ASSERT_EQ(arp.size(), 2U);
  EXPECT_EQ(arp[1].state(), v1::NEIGHBOR_STATE_FAILED);
  EXPECT_FALSE(arp[1].has_mac());
}

TEST(ProcRoutes, AreParsedOfBothFamilies) {
  EXPECT_THAT(
      Texts(ParseProcRoutes(
          "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
          "eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
          "rail0\t00000A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")),
      ElementsAre("0.0.0.0/0 dev eth0 via 10.0.0.1 table 0 metric 100",
                  "10.10.0.0/24 dev rail0 via  table 0 metric 0"));
  EXPECT_THAT(
      Texts(ParseProcRoutes6(
          "fd000000000000010000000000000000 40 00000000000000000000000000000000 00 "
          "00000000000000000000000000000000 00000100 00000001 00000000 00000001    rail0\n"
          "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
          "00000000000000000000000000000000 00000100 00000001 00000000 00000001    rail0\n"
          "00000000000000000000000000000001 80 00000000000000000000000000000000 00 "
          "00000000000000000000000000000000 00000000 00000003 00000000 80200001       lo\n")),
      ElementsAre("fd00:0:0:1::/64 dev rail0 via  table 0 metric 256"));
}

TEST(Routing, OfACaptureIsOfProcOrOfCommands) {
  SmallNode node;
  EXPECT_EQ(GapsOf(node.Inspected(), "routing").size(), 1U);
  node.File("proc/net/route",
            "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
            "eth0\t00000A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
            "cali1\t00000A0B\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")
      .File("proc/net/arp",
            "10.10.0.2        0x1         0x2         52:54:00:00:00:02     *        eth0\n");
  v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(Texts(snapshot.ip_routes()),
              ElementsAre("10.10.0.0/24 dev eth0 via  table 0 metric 0"))
      << "without routes over netdevs of containers";
  EXPECT_EQ(snapshot.routing().source(), "proc");
  EXPECT_FALSE(snapshot.routing().rules_known());
  EXPECT_EQ(snapshot.ip_neighbors_size(), 1);
  node.File("ip_route_show_table_all", "10.10.0.0/24 dev eth0 table 101\n")
      .File("ip_-4_rule_list", "32766:\tfrom all lookup main\n");
  snapshot = node.Inspected();
  EXPECT_THAT(Texts(snapshot.ip_routes()),
              ElementsAre("10.10.0.0/24 dev eth0 via  table 101 metric 0"));
  EXPECT_TRUE(snapshot.routing().rules_known());
  EXPECT_THAT(GapsOf(snapshot, "routing"), IsEmpty());
}

TEST(Routing, OfALiveMachineIsOfNetlink) {
  SmallNode node;
  node.File(kNetdev + "/ifindex", "3\n");
  node.fake.addresses.status = Status();
  node.fake.addresses.routes = {{.destination = "10.10.0.0/24", .netdev_index = 3, .table = 254},
                                {.destination = "10.11.0.0/24", .netdev_index = 99, .table = 254},
                                {.destination = "fe80::/64", .netdev_index = 3, .table = 254}};
  node.fake.addresses.rules = {{.priority = 32766, .table = 254}};
  node.fake.addresses.neighbors = {
      {.netdev_index = 3, .address = "10.10.0.9", .mac = "", .kind = host::NeighborKind::kFailed}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(Texts(snapshot.ip_routes()),
              ElementsAre("10.10.0.0/24 dev eth0 via  table 254 metric 0"));
  EXPECT_EQ(snapshot.ip_rules_size(), 1);
  ASSERT_EQ(snapshot.ip_neighbors_size(), 1);
  EXPECT_EQ(snapshot.ip_neighbors(0).state(), v1::NEIGHBOR_STATE_FAILED);
  EXPECT_EQ(snapshot.routing().source(), "netlink");
}

}  // namespace
}  // namespace fabric::inspect
