// Traffic classes, CNPs, congestion control, traffic class and ToS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;

v1::DcbConfig& DcbOf(v1::NodeSnapshot& node) {
  return *NetdevOf(node, 0).mutable_dcb();
}

v1::CongestionControl& ControlOf(v1::NodeSnapshot& node) {
  return *NetdevOf(node, 0).mutable_congestion_control();
}

std::vector<v1::NodeSnapshot> RoceNodes(std::uint32_t count = 3) {
  auto nodes = Nodes(count, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) testing::DeviceOf(node, 0).set_model("ConnectX-7");
  return nodes;
}

TEST(EtsSharesSumTo100, AddsUpWhatIsInEts) {
  auto nodes = RoceNodes();
  DcbOf(nodes[0]).mutable_ets()->set_tc_tx_bandwidth_percent(0, 52);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "sum of the ETS shares 140 % (0:52 1:13 2:12 3:13 4:12 5:13 6:12 7:13), expected "
            "100 % (rule)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("tc-bw 0:37 1:9 2:8 3:9 4:8 5:9 6:8 7:12"));
  EXPECT_THAT(finding.remedies(0).undo(), HasSubstr("tc-bw 0:52 1:13"));
  DcbOf(nodes[0]).mutable_ets()->set_tc_algorithm(0, 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("ets_shares_sum_to_100 n1/mlx5_0/1")) << "48 %";
  for (int tc = 0; tc < 8; ++tc) DcbOf(nodes[0]).mutable_ets()->set_tc_algorithm(tc, 255);
  for (auto& node : nodes) *DcbOf(node).mutable_ets() = DcbOf(nodes[0]).ets();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "nothing is in ETS";
  for (auto& node : nodes) DcbOf(node).clear_ets();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DataClassHasBandwidth, TakesTheMinimumFromTheProfile) {
  auto nodes = RoceNodes();
  v1::Expectations expect;
  expect.set_data_bandwidth_min_percent(13);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  expect.set_data_bandwidth_min_percent(50);
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  ASSERT_EQ(evaluation.counts.fail(), 3U);
  EXPECT_EQ(evaluation.findings[0].title(),
            "ETS share of class 3 of priority 3 13 %, expected at least 50 % (profile test)");
  for (auto& node : nodes) DcbOf(node).mutable_ets()->set_tc_algorithm(3, 0);
  for (auto& node : nodes) DcbOf(node).mutable_ets()->set_tc_tx_bandwidth_percent(0, 25);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "strict priority has no share";
}

TEST(DataClassHasBandwidth, FailsAtZeroPercentWithoutAProfile) {
  auto nodes = RoceNodes();
  DcbOf(nodes[1]).mutable_ets()->set_tc_tx_bandwidth_percent(3, 0);
  DcbOf(nodes[1]).mutable_ets()->set_tc_tx_bandwidth_percent(0, 25);
  EXPECT_EQ(
      TheFailure(nodes).title(),
      "ETS share of class 3 of priority 3 0 %, expected at least 1 % (the class of RoCE data)");
}

// The priority of RoCE data is the only one with PFC where all ports of the node have the same.
TEST(DataClassHasBandwidth, KnowsTheDataPriorityOnBonds) {
  for (const bool bonds : {false, true}) {
    SCOPED_TRACE(bonds);
    auto nodes = Nodes(2, testing::RoceNode);
    for (auto& node : nodes) {
      for (std::uint32_t rail = 0; rail < 2; ++rail) {
        testing::SetPfc(node, rail, 1U << 4);
        v1::Ets& ets = *NetdevOf(node, rail).mutable_dcb()->mutable_ets();
        ets.set_tc_tx_bandwidth_percent(4, 0);
        ets.set_tc_tx_bandwidth_percent(0, 24);
        if (bonds) testing::PutOnBond(node, rail);
      }
    }
    EXPECT_THAT(Failures(nodes), ElementsAre("data_class_has_bandwidth n1/mlx5_0/1",
                                             "data_class_has_bandwidth n1/mlx5_1/1",
                                             "data_class_has_bandwidth n2/mlx5_0/1",
                                             "data_class_has_bandwidth n2/mlx5_1/1"));
  }
}

TEST(EtsShareEqualOnRail, NamesTheMajority) {
  auto nodes = RoceNodes();
  DcbOf(nodes[1]).mutable_ets()->set_tc_tx_bandwidth_percent(3, 5);
  DcbOf(nodes[1]).mutable_ets()->set_tc_tx_bandwidth_percent(0, 20);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "ETS share of RoCE data 5 %, expected 13 % (2 of 3 nodes with mlx5_core on rail 0)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr(" 3:13 "));
  EXPECT_THAT(finding.remedies(0).undo(), HasSubstr(" 3:5 "));
  DcbOf(nodes[1]).clear_ets();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DataClassNotRateLimited, NamesTheLimit) {
  auto nodes = RoceNodes();
  DcbOf(nodes[0]).set_max_rate_bps(4, 1'000'000'000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "another class";
  DcbOf(nodes[0]).set_max_rate_bps(3, 25'000'000'000);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "rate limit of RoCE data 25 Gb/s, expected none (the port runs at 100 Gb/s)");
  EXPECT_EQ(finding.remedies(0).command(), "dcb maxrate set dev rail0 tc-maxrate all:0");
  DcbOf(nodes[0]).set_max_rate_bps(3, 100'000'000'000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "no less than the port's speed";
  DcbOf(nodes[0]).clear_max_rate_bps();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DataClassNotRateLimited, ChecksAllClassesWhenTheClassIsNotKnown) {
  auto nodes = RoceNodes(1);
  DcbOf(nodes[0]).clear_pfc();
  DcbOf(nodes[0]).clear_ets();
  for (int tc = 0; tc < 7; ++tc) DcbOf(nodes[0]).set_max_rate_bps(tc, 10'000'000'000);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  DcbOf(nodes[0]).set_max_rate_bps(7, 10'000'000'000);
  EXPECT_EQ(TheFailure(nodes).rule(), "data_class_not_rate_limited");
}

TEST(CnpApartFromData, FailsInThePriorityOfTheData) {
  auto nodes = RoceNodes();
  testing::MapDscp(nodes[1], 0, 48, 3);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "priority of CNPs (DSCP 48) 3, that of RoCE data, expected one without PFC (DSCP 26 "
            "has the same priority)");
  EXPECT_EQ(finding.remedies(0).command(), "dcb app replace dev rail0 dscp-prio 48:6");
  ControlOf(nodes[1]).clear_cnp_dscp();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "which DSCP CNPs have is not known then";
}

TEST(CnpDscpPriority, NamesTheMajorityOrTheProfile) {
  auto nodes = RoceNodes();
  testing::MapDscp(nodes[1], 0, 48, 0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "priority of the DSCP of CNPs 0, expected 6 (2 of 3 nodes on rail 0)");
  EXPECT_EQ(finding.remedies(1).command(), "mlnx_qos -i rail0 --dscp2prio set,48,6");
  v1::Expectations expect;
  expect.set_cnp_priority(0);
  EXPECT_THAT(Failures({nodes[1]}, Expecting(expect)),
              ElementsAre("cnp_priority_equal n2/mlx5_0/1"))
      << "the map is as the profile says";
  DcbOf(nodes[1]).clear_dscp_to_priority();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(CnpClassIsStrict, WantsStrictWhereTheProfileDoes) {
  auto nodes = RoceNodes(1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_cnp_strict(true);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(),
            "class 6 of CNPs (priority 6) ETS, expected strict priority (profile test)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("6:strict"));
  EXPECT_THAT(finding.remedies(0).command(), ::testing::Not(HasSubstr("6:12")));
  DcbOf(nodes[0]).mutable_ets()->set_tc_algorithm(6, 0);
  DcbOf(nodes[0]).mutable_ets()->set_tc_tx_bandwidth_percent(0, 24);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  DcbOf(nodes[0]).clear_ets();
  EXPECT_THAT(
      Unknowns(nodes, Expecting(expect)),
      ElementsAre("cnp_class_is_strict n1/mlx5_0/1", "data_class_apart n1/mlx5_0/1",
                  "data_class_has_bandwidth n1/mlx5_0/1", "ets_share_equal_on_rail n1/mlx5_0/1",
                  "ets_shares_sum_to_100 n1/mlx5_0/1"));
}

struct Number {
  const char* rule;
  void (*set)(v1::CongestionControl&, std::uint32_t);
  std::uint32_t value;
  const char* title;
  const char* command;
};
constexpr Number kNumbers[] = {
    {"cnp_dscp_equal", [](auto& c, std::uint32_t v) { c.set_cnp_dscp(v); }, 50,
     "DSCP of CNPs 50, expected 48 (2 of 3 nodes with mlx5_core on rail 0)",
     "cd / && echo 48 > sys/class/net/rail0/ecn/roce_np/cnp_dscp"},
    {"cnp_priority_equal", [](auto& c, std::uint32_t v) { c.set_cnp_priority(v); }, 7,
     "priority of CNPs sent 7, expected 6 (2 of 3 nodes with mlx5_core on rail 0)",
     "cd / && echo 6 > sys/class/net/rail0/ecn/roce_np/cnp_802p_prio"},
    {"cnp_interval_equal", [](auto& c, std::uint32_t v) { c.set_min_time_between_cnps_us(v); }, 50,
     "minimum time between CNPs in microseconds 50, expected 4 (2 of 3 nodes with ConnectX-7 on "
     "rail 0)",
     "cd / && echo 4 > sys/class/net/rail0/ecn/roce_np/min_time_between_cnps"},
};

TEST(CongestionNumbers, AreTheSameOnComparablePorts) {
  for (const Number& number : kNumbers) {
    SCOPED_TRACE(number.rule);
    auto nodes = RoceNodes();
    number.set(ControlOf(nodes[2]), number.value);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), number.rule);
    EXPECT_EQ(finding.title(), number.title);
    EXPECT_EQ(finding.evidence(0).source(), "sys/class/net/rail0/ecn");
    EXPECT_EQ(finding.remedies(0).command(), number.command);
    NetdevOf(nodes[2], 0).clear_congestion_control();
    EXPECT_THAT(Failures(nodes), IsEmpty());
    EXPECT_THAT(Unknowns(nodes), IsEmpty()) << "an inbox driver does not report it";
  }
}

TEST(CongestionNumbers, OfTheProfileHavePrecedence) {
  auto nodes = RoceNodes(1);
  v1::Expectations expect;
  expect.set_cnp_dscp(4);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).title(),
            "DSCP of CNPs 48, expected 4 (profile test)");
}

TEST(BnxtNumbers, OfRoceEqualProfileOrRail) {
  auto nodes = Nodes(3, testing::BnxtNode, {.rails = 1});
  ControlOf(nodes[0]).set_roce_dscp(24);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "roce_dscp_equal");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("cc/roce_dscp && echo 1 > "));
  ControlOf(nodes[0]).set_roce_dscp(26);
  ControlOf(nodes[0]).set_roce_priority(5);
  EXPECT_EQ(TheFailure(nodes).rule(), "roce_priority_equal");
  v1::Expectations expect;
  expect.set_data_priority(5);
  EXPECT_THAT(Failures({nodes[0]}, Expecting(expect)),
              ElementsAre("roce_app_priority_has_pfc n1/bnxt_re0/1"))
      << "its APP entry still says 3";
  NetdevOf(nodes[0], 0).clear_congestion_control();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(EcnOnDataPriority, ChecksBothEnds) {
  auto nodes = RoceNodes();
  ControlOf(nodes[1]).set_notification_point_enabled(4, false);
  ControlOf(nodes[1]).set_reaction_point_enabled(0, false);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "other priorities";
  ControlOf(nodes[1]).set_notification_point_enabled(3, false);
  const v1::Finding notified = TheFailure(nodes);
  EXPECT_EQ(notified.rule(), "ecn_notified_on_data_priority");
  EXPECT_EQ(notified.title(),
            "ECN notification point on the data priority off, expected on (2 of 3 nodes with "
            "mlx5_core on rail 0)");
  EXPECT_EQ(notified.remedies(0).command(),
            "cd / && echo 1 > sys/class/net/rail0/ecn/roce_np/enable/3");
  ControlOf(nodes[1]).set_notification_point_enabled(3, true);
  ControlOf(nodes[1]).set_reaction_point_enabled(3, false);
  EXPECT_EQ(TheFailure(nodes).rule(), "ecn_obeyed_on_data_priority");
  v1::Expectations expect;
  expect.set_ecn(true);
  EXPECT_EQ(TheFailure({nodes[1]}, Expecting(expect)).title(),
            "ECN reaction point on the data priority off, expected on (profile test)");
  expect.set_ecn(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "unused, it does no harm";
  ControlOf(nodes[1]).clear_reaction_point_enabled();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PortEcnEnabled, IsOneSwitchOnBnxt) {
  auto nodes = Nodes(3, testing::BnxtNode, {.rails = 1});
  ControlOf(nodes[1]).set_ecn_enabled(false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "ECN of RoCE off, expected on (2 of 3 nodes with bnxt_en on rail 0)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("echo 1 > sys/kernel/config/bnxt_re/"));
  ControlOf(nodes[1]).clear_ecn_enabled();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(CongestionModeEqual, NamesTheModes) {
  auto nodes = Nodes(3, testing::BnxtNode, {.rails = 1});
  ControlOf(nodes[1]).set_mode("dcqcn-d");
  EXPECT_EQ(TheFailure(nodes).title(),
            "mode of congestion control dcqcn-d, expected dcqcn-p (2 of 3 nodes with bnxt_en on "
            "rail 0)");
  ControlOf(nodes[1]).clear_mode();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RoceModeDefined, FailsWithNeitherPfcNorEcn) {
  auto nodes = RoceNodes();
  for (auto& node : nodes) testing::SetPfc(node, 0, 0);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "lossy with ECN";
  for (auto& node : nodes)
    for (int priority = 0; priority < 8; ++priority)
      ControlOf(node).set_notification_point_enabled(priority, false);
  ASSERT_EQ(Judge(nodes).counts.fail(), 3U);
  EXPECT_EQ(Judge(nodes).findings[0].title(),
            "RoCE mode neither PFC nor pause nor ECN, expected lossless (PFC) or lossy with ECN "
            "(rule)");
  v1::Expectations expect;
  expect.set_lossless(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "by design";
  for (auto& node : nodes) NetdevOf(node, 0).clear_congestion_control();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "whether there is ECN is not known";
  for (auto& node : nodes) testing::DeviceOf(node, 0).set_model("ConnectX-4");
  EXPECT_EQ(Judge(nodes).findings[0].evidence(0).basis(), "ConnectX-4 has no lossy RoCE");
}

TEST(TrafficClassEqualOnRail, TreatsNotSetAsAValue) {
  auto nodes = RoceNodes();
  for (auto& node : nodes) testing::PortOf(node, 0).mutable_roce_defaults()->set_traffic_class(106);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::PortOf(nodes[1], 0).mutable_roce_defaults()->clear_traffic_class();
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "traffic class override not set, expected 106 (2 of 3 nodes on rail 0)");
  EXPECT_EQ(finding.remedies(0).command(),
            "cd / && echo tclass=106 > sys/class/infiniband/mlx5_0/tc/1/traffic_class");
  v1::Expectations expect;
  expect.set_traffic_class(96);
  EXPECT_EQ(Judge({nodes[0]}, Expecting(expect)).findings[0].title(),
            "traffic class override 106, expected 96 (profile test)");
  testing::PortOf(nodes[1], 0).clear_roce_defaults();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(TrafficClassCarriesDataDscp, IsComparedWithTheProfile) {
  auto nodes = RoceNodes(1);
  testing::PortOf(nodes[0], 0).mutable_roce_defaults()->set_traffic_class(106);
  v1::Expectations expect;
  expect.set_data_dscp(26);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  testing::PortOf(nodes[0], 0).mutable_roce_defaults()->set_traffic_class(26);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(), "DSCP of the traffic class override 6, expected 26 (profile test)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("echo tclass=106 >"));
}

TEST(TrafficClassCarriesDataDscp, FailsInALossyPriorityWithoutAProfile) {
  auto nodes = Nodes(2, testing::RoceNode);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      testing::PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(26);
  ASSERT_EQ(Judge(nodes).counts.fail(), 4U);
  EXPECT_EQ(Judge(nodes).findings[0].title(),
            "priority of the traffic class override 0 (DSCP 6), expected one with PFC (3) (RoCE "
            "data is sent with it)");
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      testing::PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(96);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "DSCP 24 goes to priority 3";
}

TEST(RdmaCmTos, EqualsProfileOrRail) {
  auto nodes = RoceNodes();
  for (auto& node : nodes) testing::PortOf(node, 0).mutable_roce_defaults()->set_rdma_cm_tos(106);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::PortOf(nodes[1], 0).mutable_roce_defaults()->set_rdma_cm_tos(0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "rdma_cm_tos_equal_on_rail");
  EXPECT_EQ(finding.title(), "default ToS of RDMA-CM 0, expected 106 (2 of 3 nodes on rail 0)");
  EXPECT_EQ(finding.remedies(1).command(), "cma_roce_tos -d mlx5_0 -p 1 -t 106");
  testing::PortOf(nodes[1], 0).clear_roce_defaults();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RdmaCmTos, CarriesTheDscpOfTheProfile) {
  auto nodes = RoceNodes(1);
  testing::PortOf(nodes[0], 0).mutable_roce_defaults()->set_rdma_cm_tos(26);
  v1::Expectations expect;
  expect.set_data_dscp(26);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "rdma_cm_tos_carries_data_dscp");
  EXPECT_EQ(finding.title(),
            "DSCP of the default ToS of RDMA-CM 6 (ToS 26), expected 26 (profile test)");
  testing::PortOf(nodes[0], 0).mutable_roce_defaults()->set_rdma_cm_tos(0);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "nobody has set it";
}

TEST(RoceAppPriorityHasPfc, IsComparedWithProfileOrPfc) {
  auto nodes = Nodes(2, testing::BnxtNode);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      NetdevOf(node, rail).mutable_dcb()->set_roce_v2_priority(5);
  ASSERT_EQ(Judge(nodes).counts.fail(), 4U);
  EXPECT_EQ(Judge(nodes).findings[0].title(),
            "priority of UDP port 4791 5, expected one with PFC (3) (RoCE v2 is UDP port 4791)");
  v1::Expectations expect;
  expect.set_data_priority(5);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail)
      NetdevOf(node, rail).mutable_congestion_control()->set_roce_priority(5);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  expect.set_data_priority(3);
  EXPECT_THAT(Judge(nodes, Expecting(expect)).counts.fail(), 8U) << "and the driver's number";
}

TEST(VlanEgressPriority, WantsTheDataPriorityWherePcpIsTrusted) {
  auto nodes = RoceNodes(1);
  v1::Expectations expect;
  expect.set_trust(v1::TRUST_PCP);
  expect.set_data_priority(3);
  testing::TrustPcp(nodes[0], 0);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "no VLAN";
  v1::NetInterface& vlan = *nodes[0].add_net_interfaces();
  vlan.set_name("rail0.100");
  vlan.mutable_vlan()->set_id(100);
  for (auto& gid : *testing::PortOf(nodes[0], 0).mutable_gids())
    if (!gid.link_local()) gid.set_netdev("rail0.100");
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(),
            "egress priorities of rail0.100 no map: all 0, expected a map with 3 (profile test, "
            "which trusts PCP)");
  EXPECT_EQ(finding.remedies(0).command(),
            "ip link set dev rail0.100 type vlan egress-qos-map 0:3 3:3");
  vlan.mutable_vlan()->add_egress_priorities(3);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
