// Routes, policy rules and neighbors of rtnetlink.
#include "agents/host/netlink/route_messages.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "agents/host/netlink/address_netlink.h"
#include "base/text.h"
#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

Datagram& AddIp(Datagram& datagram, int attribute, const char* text) {
  std::array<std::byte, 16> raw{};
  const bool ipv6 = std::string_view(text).find(':') != std::string_view::npos;
  ::inet_pton(ipv6 ? AF_INET6 : AF_INET, text, raw.data());
  return datagram.Attribute(attribute, raw.data(), ipv6 ? 16 : 4);
}

Datagram& Route(Datagram& datagram, int family, unsigned char bits,
                unsigned char type = RTN_UNICAST) {
  return datagram.Message(RTM_NEWROUTE, NLM_F_MULTI)
      .Header(rtmsg{.rtm_family = static_cast<unsigned char>(family),
                    .rtm_dst_len = bits,
                    .rtm_table = RT_TABLE_MAIN,
                    .rtm_scope = RT_SCOPE_UNIVERSE,
                    .rtm_type = type});
}

std::string Text(const RouteInfo& route) {
  return Format("{} dev {} via {} table {} metric {}{}", route.destination,
                route.netdev_index.value_or(0), route.gateway.value_or("-"), route.table,
                route.metric.value_or(0), route.type.empty() ? "" : " " + route.type);
}

std::vector<std::string> RouteTexts(const Datagram& datagram) {
  const auto routes = ParseRoutes(datagram.bytes());
  if (!routes.ok()) return {std::string(CodeName(routes.status().code()))};
  std::vector<std::string> texts;
  for (const RouteInfo& route : *routes) texts.push_back(Text(route));
  return texts;
}

TEST(Routes, HaveDestinationNetdevGatewayAndTable) {
  Datagram datagram;
  AddIp(Route(datagram, AF_INET, 24), RTA_DST, "10.10.0.0").U32(RTA_OIF, 3);
  AddIp(Route(datagram, AF_INET, 0), RTA_GATEWAY, "10.10.0.254")
      .U32(RTA_OIF, 3)
      .U32(RTA_TABLE, 1001)
      .U32(RTA_PRIORITY, 50);
  AddIp(Route(datagram, AF_INET6, 64), RTA_DST, "fd00::").U32(RTA_OIF, 4);
  EXPECT_THAT(RouteTexts(datagram),
              ElementsAre("10.10.0.0/24 dev 3 via - table 254 metric 0",
                          "0.0.0.0/0 dev 3 via 10.10.0.254 table 1001 metric 50",
                          "fd00::/64 dev 4 via - table 254 metric 0"));
}

TEST(Routes, WithSeveralNextHopsAreSeveral) {
  Datagram datagram;
  AddIp(Route(datagram, AF_INET, 16), RTA_DST, "10.20.0.0");
  struct Hop {
    rtnexthop header;
    rtattr attribute;
    in_addr gateway;
  };
  Hop both[2] = {};
  for (int i = 0; i < 2; ++i) {
    both[i].header = {.rtnh_len = sizeof(Hop), .rtnh_ifindex = 3 + i};
    both[i].attribute = {.rta_len = sizeof(rtattr) + sizeof(in_addr), .rta_type = RTA_GATEWAY};
    ::inet_pton(AF_INET, i == 0 ? "10.10.0.254" : "10.10.1.254", &both[i].gateway);
  }
  datagram.Attribute(RTA_MULTIPATH, both, sizeof(both));
  EXPECT_THAT(RouteTexts(datagram),
              ElementsAre("10.20.0.0/16 dev 3 via 10.10.0.254 table 254 metric 0",
                          "10.20.0.0/16 dev 4 via 10.10.1.254 table 254 metric 0"));
}

TEST(Routes, OfTheNodeItselfAreLeftOut) {
  Datagram datagram;
  AddIp(Route(datagram, AF_INET, 32, RTN_LOCAL), RTA_DST, "10.10.0.1");
  AddIp(Route(datagram, AF_INET, 32, RTN_BROADCAST), RTA_DST, "10.10.0.255");
  AddIp(Route(datagram, AF_INET, 32), RTA_DST, "10.10.0.9").U32(RTA_TABLE, RT_TABLE_LOCAL);
  AddIp(Route(datagram, AF_INET, 8, RTN_BLACKHOLE), RTA_DST, "10.0.0.0");
  EXPECT_THAT(RouteTexts(datagram),
              ElementsAre("10.0.0.0/8 dev 0 via - table 254 metric 0 blackhole"));
}

TEST(Routes, ThatContradictThemselvesAreRefused) {
  Datagram wrong_size, long_prefix, short_hops;
  AddIp(Route(wrong_size, AF_INET6, 64), RTA_DST, "10.0.0.0");
  AddIp(Route(long_prefix, AF_INET, 33), RTA_DST, "10.0.0.0");
  const rtnexthop hop = {.rtnh_len = 4};
  AddIp(Route(short_hops, AF_INET, 8), RTA_DST, "10.0.0.0").Value(RTA_MULTIPATH, hop);
  for (const Datagram& bad : {wrong_size, long_prefix, short_hops})
    EXPECT_THAT(RouteTexts(bad), ElementsAre("INVALID_ARGUMENT"));
}

TEST(Rules, HaveSelectorsAndTable) {
  Datagram datagram;
  datagram.Message(RTM_NEWRULE, NLM_F_MULTI)
      .Header(fib_rule_hdr{
          .family = AF_INET, .src_len = 32, .table = RT_TABLE_MAIN, .action = FR_ACT_TO_TBL});
  AddIp(datagram, FRA_SRC, "10.10.0.1").U32(FRA_PRIORITY, 100).U32(FRA_TABLE, 1001);
  datagram.Message(RTM_NEWRULE, NLM_F_MULTI)
      .Header(fib_rule_hdr{.family = AF_INET, .table = RT_TABLE_LOCAL, .action = FR_ACT_TO_TBL});
  datagram.Message(RTM_NEWRULE, NLM_F_MULTI)
      .Header(fib_rule_hdr{.family = AF_INET6, .action = FR_ACT_UNREACHABLE})
      .Text(FRA_OIFNAME, "rail0");
  const auto rules = ParseRules(datagram.bytes());
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ASSERT_EQ(rules->size(), 2U) << "without the rule of table local";
  EXPECT_EQ(rules->at(0).from, "10.10.0.1/32");
  EXPECT_EQ(rules->at(0).priority, 100U);
  EXPECT_EQ(rules->at(0).table, 1001U);
  EXPECT_TRUE(rules->at(1).ipv6);
  EXPECT_EQ(rules->at(1).action, "unreachable");
  EXPECT_EQ(rules->at(1).output_netdev, "rail0");
}

TEST(Neighbors, HaveMacAndKind) {
  Datagram datagram;
  const auto add = [&](std::uint16_t state) -> Datagram& {
    return datagram.Message(RTM_NEWNEIGH, NLM_F_MULTI)
        .Header(ndmsg{.ndm_family = AF_INET, .ndm_ifindex = 3, .ndm_state = state});
  };
  const std::array<std::uint8_t, 6> mac = {0x52, 0x54, 0, 1, 2, 3};
  AddIp(add(NUD_STALE), NDA_DST, "10.10.0.2").Value(NDA_LLADDR, mac);
  AddIp(add(NUD_FAILED), NDA_DST, "10.10.0.254");
  AddIp(add(NUD_NONE), NDA_DST, "10.10.0.9");
  const auto neighbors = ParseNeighbors(datagram.bytes());
  ASSERT_TRUE(neighbors.ok()) << neighbors.status().message();
  ASSERT_EQ(neighbors->size(), 2U);
  EXPECT_EQ(neighbors->at(0).mac, "52:54:00:01:02:03");
  EXPECT_EQ(neighbors->at(0).kind, NeighborKind::kResolved);
  EXPECT_EQ(neighbors->at(1).kind, NeighborKind::kFailed);
}

TEST(LiveAddressNetlink, ListsRoutesRulesAndNeighbors) {
  const auto netlink = OpenAddressNetlink();
  EXPECT_TRUE(netlink->Routes().ok()) << netlink->Routes().status().message();
  EXPECT_TRUE(netlink->Rules().ok()) << netlink->Rules().status().message();
  EXPECT_TRUE(netlink->Neighbors().ok()) << netlink->Neighbors().status().message();
  EXPECT_EQ(NoAddressNetlink()->Routes().status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace fabric::host
