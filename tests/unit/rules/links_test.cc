// link_rate_expected, link_speed_equal_on_rail, link_speed_equal_in_node, link_speed_near_maximum,
// fec_equal_on_rail, autonegotiation_equal_on_rail, mtu_equal_in_node
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using testing::PortOf;
using ::testing::SizeIs;

constexpr std::uint64_t kGigabit = 1'000'000'000;

TEST(LinkRateExpected, ComparesEveryPortWithTheProfile) {
  v1::Expectations expect;
  expect.set_rate_bps(200 * kGigabit);
  const auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  EXPECT_THAT(Failures(nodes), IsEmpty());
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  ASSERT_EQ(evaluation.counts.fail(), 2U);
  EXPECT_EQ(evaluation.findings[0].title(),
            "link rate 100 Gb/s, expected at least 200 Gb/s (profile test)");
  EXPECT_EQ(evaluation.findings[0].evidence(0).source(), "sys/class/net/rail0/speed");
  expect.set_rate_bps(100 * kGigabit);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(LinkRateExpected, ComparesLanesOfInfiniband) {
  v1::Expectations expect;
  expect.set_width(4);
  auto nodes = Nodes(3, testing::InfinibandNode, {.rails = 1});
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  PortOf(nodes[1], 0).set_width(2);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "lanes 2, expected at least 4 (profile test)");
}

TEST(LinkSpeedEqualOnRail, FailsForTheSlowPort) {
  auto nodes = Nodes(3, testing::RoceNode);
  NetdevOf(nodes[1], 1).set_speed_bps(50 * kGigabit);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "link_speed_equal_on_rail");
  EXPECT_EQ(finding.title(),
            "link rate 50 Gb/s, expected 100 Gb/s (2 of 3 nodes with ConnectX-7 on rail 1)");
  EXPECT_EQ(finding.remedies(0).command(), "ethtool rail1");
  DeviceOf(nodes[1], 1).set_model("ConnectX-5");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "another model may be slower";
}

// Four of the links of a fabric are slower than the others.
TEST(LinkSpeedEqualOnRail, FailsForInfiniband) {
  auto nodes = Nodes(16, testing::InfinibandNode, {.rails = 1});
  for (std::size_t i = 0; i < 4; ++i) PortOf(nodes[i], 0).set_rate_bps(50 * kGigabit);
  EXPECT_THAT(
      Failures(nodes),
      ElementsAre("link_speed_equal_on_rail n1/mlx5_0/1", "link_speed_equal_on_rail n2/mlx5_0/1",
                  "link_speed_equal_on_rail n3/mlx5_0/1", "link_speed_equal_on_rail n4/mlx5_0/1"));
  EXPECT_THAT(Judge(nodes).findings[0].remedies(0).command(),
              HasSubstr("smpquery -C mlx5_0 -P 1 -D portinfo 0 1"));
}

TEST(LinkSpeedEqualOnRail, SkipsASingleLane) {
  auto nodes = Nodes(3, testing::InfinibandNode);
  PortOf(nodes[1], 0).set_rate_bps(25 * kGigabit);
  PortOf(nodes[1], 0).set_width(1);
  EXPECT_THAT(Failures(nodes), ElementsAre("ib_width_full n2/mlx5_0/1"));
}

TEST(LinkSpeedEqualOnRail, SkipsSoftwareAndUnknownSpeeds) {
  auto nodes = Nodes(3, testing::LabNode);
  NetdevOf(nodes[1], 0).set_speed_bps(kGigabit);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = Nodes(3, testing::RoceNode);
  NetdevOf(nodes[1], 0).clear_speed_bps();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the RDMA port has the rate";
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
  PortOf(nodes[1], 0).set_rate_bps(25 * kGigabit);
  EXPECT_THAT(Failures(nodes), ElementsAre("link_speed_equal_on_rail n2/mlx5_0/1"));
  PortOf(nodes[1], 0).clear_rate_bps();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("link_speed_equal_on_rail n2/mlx5_0/1",
                                           "link_speed_near_maximum n2/mlx5_0/1"));
}

TEST(LinkSpeedNearMaximum, FailsAtAnEighthOnly) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) NetdevOf(node, 0).set_speed_max_bps(400 * kGigabit);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "a slower switch";
  NetdevOf(nodes[1], 0).set_speed_bps(25 * kGigabit);
  NetdevOf(nodes[1], 0).set_fec("baser");
  for (const int other : {0, 2}) NetdevOf(nodes[static_cast<std::size_t>(other)], 0).set_fec("rs");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "link_speed_near_maximum");
  EXPECT_EQ(finding.title(), "link rate 25 Gb/s, expected near the maximum of the port, 400 Gb/s");
}

TEST(FecEqualOnRail, NamesBothModes) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) NetdevOf(node, 0).set_fec("rs");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  NetdevOf(nodes[2], 0).set_fec("off");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "FEC off, expected rs (2 of 3 nodes with ConnectX-7 on rail 0)");
  EXPECT_EQ(finding.remedies(0).command(), "ethtool --set-fec rail0 encoding rs");
  EXPECT_TRUE(finding.remedies(0).interrupts_traffic());
  NetdevOf(nodes[2], 0).clear_fec();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(AutonegotiationEqualOnRail, FailsForTheFixedPort) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) NetdevOf(node, 0).set_autonegotiation(true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  NetdevOf(nodes[2], 0).set_autonegotiation(false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.severity(), v1::SEVERITY_INFO);
  EXPECT_EQ(finding.remedies(0).command(), "ethtool -s rail0 autoneg on");
}

TEST(EqualInNode, ComparesTheCardsOfASingleNode) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  EXPECT_THAT(Failures(nodes), IsEmpty());
  NetdevOf(nodes[0], 3).set_speed_bps(50 * kGigabit);
  testing::SetMtu(nodes[0], 5, 1500);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("link_speed_equal_in_node n1/mlx5_3/1", "mtu_equal_in_node n1/mlx5_5/1",
                          "rdma_mtu_of_fast_link n1/mlx5_5/1"));
  NetdevOf(nodes[0], 3).set_speed_bps(100 * kGigabit);
  std::vector<v1::Finding> causes = JudgeWithCauses(nodes).findings;
  std::erase_if(causes, [](const v1::Finding& each) { return !each.explained_by().empty(); });
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_EQ(causes[0].title(),
            "netdev MTU 1500, expected 9000 (7 of 8 ports of PSID of ConnectX-7)");
  EXPECT_EQ(causes[0].remedies(0).command(), "ip link set dev rail5 mtu 9000");
}

TEST(EqualInNode, ComparesACardOfUnreadBoardByItsPciIds) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  for (auto& device : *nodes[0].mutable_rdma_devices()) {
    device.set_vendor_id("15b3");
    device.set_device_id("1021");
  }
  NetdevOf(nodes[0], 3).set_speed_bps(50 * kGigabit);
  DeviceOf(nodes[0], 3).clear_board_id();
  EXPECT_THAT(Failures(nodes), ElementsAre("link_speed_equal_in_node n1/mlx5_3/1"));
  DeviceOf(nodes[0], 3).clear_model();
  EXPECT_THAT(Failures(nodes), ElementsAre("link_speed_equal_in_node n1/mlx5_3/1"));
  for (const int other : {6, 7})
    nodes[0].mutable_rdma_devices(other)->set_board_id("that of a storage card");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "two boards have these PCI ids";
}

TEST(EqualInNode, IsUnknownForACardWithoutAnyIdentity) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  NetdevOf(nodes[0], 3).set_speed_bps(50 * kGigabit);
  v1::RdmaDevice& device = DeviceOf(nodes[0], 3);
  device.clear_board_id();
  device.clear_model();
  device.set_driver("other");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("link_speed_equal_in_node n1/mlx5_3/1"));
}

TEST(LinkSpeedOnRail, ComparesACardOfUnreadModel) {
  auto nodes = Nodes(4, testing::RoceNode);
  NetdevOf(nodes[1], 1).set_speed_bps(50 * kGigabit);
  DeviceOf(nodes[1], 1).clear_model();
  EXPECT_THAT(Failures(nodes), ElementsAre("link_speed_equal_on_rail n2/mlx5_1/1"));
}

TEST(EqualInNode, SkipsOtherBoardsPairsAndFleets) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  testing::SetMtu(nodes[0], 5, 1500);
  DeviceOf(nodes[0], 5).set_board_id("that of a storage card");
  const auto by_mtu = ::testing::Each(::testing::StartsWith("rdma_mtu_of_fast_link "));
  EXPECT_THAT(Failures(nodes), by_mtu);
  nodes = Nodes(1, testing::RoceNode, {.rails = 4});
  testing::SetMtu(nodes[0], 0, 1500);
  testing::SetMtu(nodes[0], 1, 1500);
  EXPECT_THAT(Failures(nodes), by_mtu) << "half of them";
  nodes = Nodes(3, testing::RoceNode, {.rails = 8});
  for (auto& node : nodes) testing::SetMtu(node, 0, 1500);
  EXPECT_THAT(Failures(nodes), by_mtu) << "the rail is agreed";
}

TEST(EqualInNode, SkipsAnMtuAFewBytesTooSmall) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8});
  testing::SetMtu(nodes[0], 5, 4096);
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_mtu_matches_netdev n1/mlx5_5/1"));
}

TEST(Fec, IsTheProfilesOrUnknown) {
  auto nodes = testing::Nodes(1, testing::RoceNode);
  for (std::uint32_t rail = 0; rail < 2; ++rail) testing::NetdevOf(nodes[0], rail).set_fec("baser");
  v1::Expectations expect;
  expect.set_fec("rs");
  EXPECT_THAT(Failures(nodes, Expecting(expect)), ::testing::SizeIs(2));
  for (std::uint32_t rail = 0; rail < 2; ++rail) testing::NetdevOf(nodes[0], rail).clear_fec();
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)), ::testing::ElementsAre("fec_equal_on_rail n1"));
}

TEST(Fec, IsUnknownWithoutAProfileWhereItCouldNotBeRead) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) {
    NetdevOf(node, 0).set_autonegotiation(true);
    NetdevOf(node, 0).clear_fec();
  }
  EXPECT_THAT(Unknowns(nodes), IsEmpty()) << "not every driver reports it";
  v1::Gap& gap = *nodes[1].add_gaps();
  gap.set_inspector("net_interfaces");
  gap.set_subject("rail0");
  gap.set_path("netlink ethtool rail0");
  gap.set_code(v1::GAP_CODE_PERMISSION_DENIED);
  gap.set_reason("Operation not permitted");
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("fec_equal_on_rail n2/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
