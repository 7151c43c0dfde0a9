// What went wrong in real clusters with RoCE, as snapshots, or two of them, show it: the one
// finding that names the cause, and nothing else. Logs of the same troubles are in
// tests/unit/explain/cases_test.cc.
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
using testing::NetdevOf;
using testing::Nodes;
using testing::Pair;
using testing::PortOf;
using Node = v1::NodeSnapshot;
using Fleet = std::vector<Node>;

v1::Expectations Lossless() {
  v1::Expectations expect;
  expect.set_lossless(true);
  return expect;
}

// Connections time out at the first write: the only RoCE v2 GID is link-local, and the other
// addresses are there as RoCE v1, which no router forwards.
TEST(Case, NoGidThatARouterForwards) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  auto& gids = *PortOf(nodes[1], 0).mutable_gids();
  gids.DeleteSubrange(3, 1);  // RoCE v2 of the IPv4 address
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "roce_v2_gid_present");
  EXPECT_EQ(finding.title(),
            "RoCE v2 GIDs: only link-local ones, expected one with a routable address");
}

// Somebody looks for an IPv4 GID and falls back to index 0; an address of IPv6 is as good.
TEST(Case, AGidOfUniqueLocalIpv6IsFine) {
  Fleet nodes = Nodes(3, testing::BnxtNode);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::DropAddress(node, rail);
      v1::Gid& gid = *PortOf(node, rail).add_gids();
      gid.set_index(3);
      gid.set_gid(Format("fd00:0000:0000:{:04x}:0000:0000:0000:{:04x}", rail,
                         std::stoi(node.node().name().substr(1))));
      gid.set_type(v1::GID_TYPE_ROCE_V2);
      gid.set_netdev(PortOf(node, rail).netdev());
      gid.set_ipv6("fd00::1");
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

// "3" is no answer that fits all: with one address more the pair of IPv4 stands at 4 and 5.
TEST(Case, TheIndexThatEverybodyPinsIsAnotherOneHere) {
  Fleet nodes = Nodes(4, testing::RoceNode, {.rails = 1});
  auto& gids = *PortOf(nodes[2], 0).mutable_gids();
  gids[2].set_index(4);
  gids[3].set_index(5);
  EXPECT_EQ(TheFailure(nodes).rule(), "gid_index_equal_on_rail");
}

void SetArp(Node& node) {
  for (const char* name : {"arp_ignore", "arp_announce", "arp_filter"}) {
    v1::Sysctl& sysctl = *node.mutable_host()->add_sysctls();
    sysctl.set_name(Format("net.ipv4.conf.all.{}", name));
    sysctl.set_value("0");
  }
}

// All traffic of eight cards leaves by one.
TEST(Case, EightCardsInOneSubnet) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 8});
  for (Node& node : nodes) {
    SetArp(node);
    for (std::uint32_t rail = 0; rail < 8; ++rail) {
      std::string& address = *NetdevOf(node, rail).mutable_addresses(0);
      address = address.substr(0, address.find('/')) + "/16";
    }
  }
  EXPECT_THAT(Failures(nodes),
              ElementsAre("ports_of_node_in_own_subnets n1", "ports_of_node_in_own_subnets n2",
                          "ports_of_node_in_own_subnets n3"));
  EXPECT_THAT(Judge(nodes).findings[0].title(), HasSubstr("and 4 more are all in 10.10.0.0/16"));
}

// Socket direct: the two functions of one card, one for each socket, have addresses of one subnet.
TEST(Case, BothFunctionsOfASocketDirectCardInOneSubnet) {
  Fleet nodes = Nodes(1, testing::RoceNode);
  SetArp(nodes[0]);
  testing::SetAddress(nodes[0], 1, "10.10.0.201");
  EXPECT_EQ(TheFailure(nodes).rule(), "ports_of_node_in_own_subnets");
}

// The same seen from the rail: one port was given an address of its neighbour's subnet.
TEST(Case, AnAddressOfAnotherRail) {
  Fleet nodes = Nodes(4, testing::RoceNode, {.rails = 4});
  for (Node& node : nodes) SetArp(node);
  testing::SetAddress(nodes[2], 1, "10.10.2.77");
  EXPECT_THAT(Failures(nodes), ElementsAre("rail_subnet_equal n3/mlx5_1/1"));
}

// Small messages pass, the first large one times out: the queue pair's path MTU is above what the
// peer's port has.
TEST(Case, PortsOfOneRailWithTwoMtus) {
  Fleet nodes = Nodes(5, testing::RoceNode, {.rails = 1});
  testing::SetMtu(nodes[4], 0, 1500);
  EXPECT_EQ(TheFailure(nodes).title(), "netdev MTU 1500, expected 9000 (4 of 5 nodes on rail 0)");
  nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  testing::SetMtu(nodes[1], 0, 4200);
  EXPECT_EQ(TheFailure(nodes).title(), "values of netdev MTU differ: 4200 on n2; 9000 on n1");
}

// Above 1 or 2 KB reads time out: the switch port takes no more.
TEST(Case, ASwitchPortWithASmallMtu) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  testing::WireByRail(nodes);
  testing::NeighborOf(nodes[0], 1).set_max_frame_bytes(1518);
  EXPECT_EQ(TheFailure(nodes).rule(), "switch_mtu_covers_host");
}

// Once in thousands of starts a queue pair fails, no port drops anything: those that GPUs make do
// not inherit the traffic class and ride the lossy priority 0, a third of the bytes.
TEST(Case, SomeQueuePairsDoNotInheritTheTrafficClass) {
  Pair pair = testing::PairOf(Nodes(3, testing::RoceNode));
  testing::Count(pair, 1, 0, "rdma_tx_bytes", 90'000'000'000);
  testing::Count(pair, 1, 0, "tx_bytes_prio3", 60'000'000'000);
  testing::Count(pair, 1, 0, "tx_bytes_prio0", 31'000'000'000);
  EXPECT_THAT(FailuresBetween(pair.before, pair.after),
              ElementsAre("rdma_on_lossless_priority n2/mlx5_0/1"));
}

// The same with a twentieth of the bytes.
TEST(Case, FewQueuePairsDoNotInheritTheTrafficClass) {
  Pair pair = testing::PairOf(Nodes(3, testing::RoceNode));
  testing::Count(pair, 1, 0, "rdma_tx_bytes", 90'000'000'000);
  testing::Count(pair, 1, 0, "tx_bytes_prio3", 86'000'000'000);
  testing::Count(pair, 1, 0, "tx_bytes_prio0", 4'700'000'000);
  EXPECT_THAT(FailuresBetween(pair.before, pair.after),
              ElementsAre("rdma_on_lossless_priority n2/mlx5_0/1"));
}

// RDMA slower than TCP under incast: nobody marks it, PFC on priority 3 protects nothing.
TEST(Case, RdmaOnTheDefaultPriority) {
  Pair pair = testing::PairOf(Nodes(3, testing::RoceNode, {.rails = 1}));
  for (std::size_t node = 0; node < 3; ++node) {
    testing::Count(pair, node, 0, "rdma_tx_bytes", 90'000'000'000);
    testing::Count(pair, node, 0, "tx_bytes_prio0", 93'000'000'000);
  }
  EXPECT_THAT(
      FailuresBetween(pair.before, pair.after),
      ElementsAre("rdma_on_lossless_priority n1/mlx5_0/1", "rdma_on_lossless_priority n2/mlx5_0/1",
                  "rdma_on_lossless_priority n3/mlx5_0/1"));
}

// Bandwidth collapses and no drop counter moves: no flow control at all where RoCE is meant to be
// lossless.
TEST(Case, NoFlowControlAtAll) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  testing::SetPfc(nodes[0], 0, 0);
  const v1::Finding finding = TheFailure(nodes, Expecting(Lossless()));
  EXPECT_EQ(finding.rule(), "lossless_has_flow_control");
}

// The same where the switches lost it.
TEST(Case, SwitchesWithoutPfc) {
  Fleet nodes = Nodes(8, testing::RoceNode, {.rails = 1});
  testing::WireByRail(nodes);
  for (Node& node : nodes) testing::NeighborOf(node, 0).mutable_pfc()->set_enabled_mask(0);
  EXPECT_THAT(Failures(nodes), ElementsAre("switch_pfc_equals_host switch leaf0"));
}

// "Transport retry counter exceeded" on an old card: neither lossless nor made for loss.
TEST(Case, NeitherLosslessNorLossy) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  testing::SetPfc(nodes[0], 0, 0);
  testing::TrustPcp(nodes[0], 0);
  testing::DeviceOf(nodes[0], 0).set_model("ConnectX-4");
  EXPECT_EQ(TheFailure(nodes).rule(), "roce_mode_defined");
}

// 308 of 400 Gb/s and no drops: the whole link is paused, by the peer. The direction matters.
TEST(Case, PausedByGlobalPause) {
  Pair pair = testing::PairOf(Nodes(3, testing::RoceNode, {.rails = 1, .gpu = false}));
  testing::Count(pair, 1, 0, "pause_rx_duration_us", 6'900'000);
  for (Fleet* fleet : {&pair.before, &pair.after})
    for (Node& node : *fleet) {
      testing::SetPfc(node, 0, 0);
      NetdevOf(node, 0).mutable_global_pause()->set_rx(true);
      NetdevOf(node, 0).mutable_global_pause()->set_tx(true);
    }
  EXPECT_THAT(FailuresBetween(pair.before, pair.after),
              ElementsAre("pause_received_within_limit n2/mlx5_0/1"));
}

// One port of a card that can give PFC to one traffic class only.
TEST(Case, PfcOfOnePortOfAnIntelCard) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      v1::NetInterface& netdev = NetdevOf(node, rail);
      netdev.set_driver("ice");
      netdev.clear_congestion_control();
      netdev.clear_pfc_storm_prevention_ms();
      netdev.mutable_dcb()->clear_buffers();
      netdev.mutable_dcb()->clear_cable_length_m();
      testing::DeviceOf(node, rail).set_driver("irdma");
      testing::DeviceOf(node, rail).set_model("E810-C");
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (const std::uint32_t mask : {0U, 1U << 4}) {
    Fleet faulty = nodes;
    testing::SetPfc(faulty[1], 0, mask);
    EXPECT_THAT(Failures(faulty), ElementsAre("pfc_equal_on_rail n2/mlx5_0/1")) << mask;
  }
  testing::SetPfc(nodes[1], 0, 0x18);
  EXPECT_THAT(Failures(nodes), ElementsAre("pfc_within_capability n2/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
