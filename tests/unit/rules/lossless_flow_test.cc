// Trust, DSCP of data, PFC and global pause, buffers and headroom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/lossless.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;

profile::Profile Lossless() {
  v1::Expectations expect;
  expect.set_lossless(true);
  return Expecting(expect);
}

void SetPause(v1::NodeSnapshot& node, std::uint32_t rail, bool rx, bool tx) {
  v1::GlobalPause& pause = *NetdevOf(node, rail).mutable_global_pause();
  pause.set_rx(rx);
  pause.set_tx(tx);
}

TEST(TrustEqualOnRail, ComparesEveryPortWithAProfile) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_trust(v1::TRUST_DSCP);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  testing::TrustPcp(nodes[1], 0);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "trust_equal_on_rail") << "and not pfc_covers_roce_dscp too";
  EXPECT_EQ(finding.title(), "trust pcp, expected dscp (profile test)");
  EXPECT_EQ(finding.evidence(0).source(), "netlink dcb rail0");
  ASSERT_EQ(finding.remedies_size(), 1);
  EXPECT_EQ(finding.remedies(0).command(), "mlnx_qos -i rail0 --trust dscp")
      << "the DSCP of RoCE is not known";
  expect.set_data_dscp(26);
  const v1::Finding known = TheFailure(nodes, Expecting(expect));
  ASSERT_EQ(known.remedies_size(), 2);
  EXPECT_EQ(known.remedies(0).command(), "dcb app replace dev rail0 dscp-prio 26:3");
  EXPECT_EQ(known.remedies(1).command(),
            "mlnx_qos -i rail0 --trust dscp && mlnx_qos -i rail0 --dscp2prio set,26,3");
  EXPECT_EQ(known.remedies(1).undo(),
            "mlnx_qos -i rail0 --dscp2prio del,26,3 && mlnx_qos -i rail0 --trust pcp");
}

TEST(TrustEqualOnRail, ComparesPortsWithoutPfc) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) testing::SetPfc(node, 0, 0);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::TrustPcp(nodes[1], 0);
  EXPECT_EQ(TheFailure(nodes).title(), "trust pcp, expected dscp (2 of 3 nodes on rail 0)");
}

TEST(TrustEqualOnRail, IsUnknownWhenTheProfileNamesItAndTheDriverDoesNotReportIt) {
  auto nodes = Nodes(2, testing::BnxtNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_trust(v1::TRUST_DSCP);
  NetdevOf(nodes[0], 0).mutable_dcb()->clear_trust();
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)), ElementsAre("trust_equal_on_rail n1/bnxt_re0/1"));
}

TEST(TrustEqualOnRail, APcpProfileTurnsOffTheInferenceOfDscps) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_trust(v1::TRUST_PCP);
  for (auto& node : nodes) testing::TrustPcp(node, 0);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)), IsEmpty());
}

TEST(DataDscpHasDataPriority, NamesTheActualPriority) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_data_dscp(26);
  expect.set_data_priority(3);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  testing::MapDscp(nodes[0], 0, 26, 0);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "data_dscp_has_data_priority");
  EXPECT_EQ(finding.title(), "priority of DSCP 26 0, expected 3 (profile test)");
  EXPECT_EQ(finding.remedies(0).command(), "dcb app replace dev rail0 dscp-prio 26:3");
  EXPECT_EQ(finding.remedies(1).command(), "mlnx_qos -i rail0 --dscp2prio set,26,3");
}

TEST(DataDscpHasDataPriority, IsUnknownWithoutTheMapAndSilentWithoutTrust) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_data_dscp(26);
  expect.set_data_priority(3);
  NetdevOf(nodes[0], 0).mutable_dcb()->clear_dscp_to_priority();
  EXPECT_THAT(Unknowns(nodes, Expecting(expect)),
              ElementsAre("cnp_apart_from_data n1/mlx5_0/1", "cnp_dscp_priority n1/mlx5_0/1",
                          "data_dscp_has_data_priority n1/mlx5_0/1"));
  NetdevOf(nodes[0], 0).mutable_dcb()->clear_trust();
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(PfcCoversRoceDscp, TakesTheDscpOfAProfile) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_data_dscp(24);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  for (auto& node : nodes) testing::MapDscp(node, 0, 24, 0);
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  ASSERT_EQ(evaluation.counts.fail(), 2U);
  EXPECT_EQ(evaluation.findings[0].title(),
            "DSCP 24 maps to priority 0, expected a priority with PFC (3)");
  EXPECT_EQ(evaluation.findings[0].evidence(0).basis(), "profile test");
}

TEST(PfcExcludesGlobalPause, NamesTheDirections) {
  auto nodes = Nodes(2, testing::RoceNode);
  SetPause(nodes[0], 1, true, true);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "pfc_excludes_global_pause");
  EXPECT_EQ(finding.title(), "global pause rx and tx on, expected off (PFC is on for 3)");
  EXPECT_EQ(finding.evidence(0).source(), "ethtool pause rail1");
  EXPECT_EQ(finding.remedies(0).command(), "ethtool -A rail1 rx off tx off");
  NetdevOf(nodes[0], 1).mutable_global_pause()->set_autonegotiate(true);
  EXPECT_EQ(TheFailure(nodes).remedies(0).command(), "ethtool -A rail1 autoneg off rx off tx off");
  SetPause(nodes[0], 1, false, true);
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("global pause tx on"));
  NetdevOf(nodes[0], 1).clear_global_pause();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("pfc_excludes_global_pause n1/mlx5_1/1"));
  testing::DeviceOf(nodes[0], 1).mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  EXPECT_THAT(Unknowns(nodes), IsEmpty()) << "virtual functions do not report it";
}

TEST(GlobalPauseEqualOnRail, ComparesPortsWithoutPfc) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1, .gpu = false});
  for (auto& node : nodes) testing::SetPfc(node, 0, 0);
  for (auto& node : nodes) SetPause(node, 0, true, true);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  SetPause(nodes[2], 0, false, false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "global pause rx off tx off, expected rx on tx on (2 of 3 nodes with mlx5_core on "
            "rail 0)");
  EXPECT_EQ(finding.remedies(0).command(), "ethtool -A rail0 rx on tx on");
  v1::Expectations expect;
  expect.set_global_pause(false);
  EXPECT_THAT(Failures(nodes, Expecting(expect)),
              ElementsAre("global_pause_equal_on_rail n1/mlx5_0/1",
                          "global_pause_equal_on_rail n2/mlx5_0/1"));
}

TEST(LosslessHasFlowControl, FailsWithNeitherPfcNorPause) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  EXPECT_THAT(Failures(nodes, Lossless()), IsEmpty());
  testing::SetPfc(nodes[1], 0, 0);
  const v1::Finding finding = TheFailure(nodes, Lossless());
  EXPECT_EQ(finding.rule(), "lossless_has_flow_control");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_CRITICAL);
  EXPECT_EQ(finding.title(),
            "flow control neither PFC nor global pause, expected PFC (profile test, lossless)");
  EXPECT_EQ(finding.remedies(0).command(), "dcb pfc set dev rail0 prio-pfc all:off 3:on");
  EXPECT_TRUE(finding.remedies(0).interrupts_traffic());
  NetdevOf(nodes[1], 0).clear_global_pause();
  EXPECT_THAT(Failures(nodes, Lossless()), ElementsAre("pfc_equal_on_rail n2/mlx5_0/1"));
  NetdevOf(nodes[1], 0).mutable_dcb()->clear_pfc();
  EXPECT_THAT(Unknowns(nodes, Lossless()), ElementsAre("lossless_has_flow_control n2/mlx5_0/1",
                                                       "pfc_equal_on_rail n2/mlx5_0/1"));
}

TEST(PfcInsteadOfGlobalPause, NamesGlobalPauseUnlessTheProfileWantsIt) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  testing::SetPfc(nodes[1], 0, 0);
  SetPause(nodes[1], 0, true, true);
  const v1::Finding finding = TheFailure(nodes, Lossless());
  EXPECT_EQ(finding.rule(), "pfc_instead_of_global_pause");
  EXPECT_EQ(finding.title(), "flow control global pause, expected PFC (profile test, lossless)");
  EXPECT_EQ(finding.remedies(0).command(),
            "ethtool -A rail0 rx off tx off && dcb pfc set dev rail0 prio-pfc all:off 3:on");
  v1::Expectations expect;
  expect.set_lossless(true);
  expect.set_global_pause(true);
  EXPECT_THAT(Failures({nodes[1]}, Expecting(expect)), IsEmpty());
}

TEST(PfcOnDataPriority, FailsWhenPfcIsOnForAnotherOne) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_lossless(true);
  expect.set_data_priority(3);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  for (auto& node : nodes) testing::SetPfc(node, 0, 0x18);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "3 is among them";
  for (auto& node : nodes) testing::SetPfc(node, 0, 0x10);
  for (auto& node : nodes) testing::MapDscp(node, 0, 26, 4);
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  ASSERT_EQ(evaluation.counts.fail(), 2U);
  EXPECT_EQ(evaluation.findings[0].title(),
            "PFC enabled priorities 4, expected a set with 3 (profile test)");
  EXPECT_EQ(evaluation.findings[0].remedies(0).command(),
            "dcb pfc set dev rail0 prio-pfc all:off 3:on");
  expect.mutable_pfc_priorities()->add_priorities(4);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty()) << "pfc_equal_on_rail judges";
}

TEST(PfcWithinCapability, CountsThePrioritiesAgainstWhatTheNicCanDo) {
  auto nodes = Nodes(2, testing::BnxtNode, {.rails = 1});
  for (auto& node : nodes) NetdevOf(node, 0).mutable_dcb()->mutable_pfc()->set_capability(2);
  for (auto& node : nodes) testing::SetPfc(node, 0, 0x18);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (auto& node : nodes) testing::SetPfc(node, 0, 0x38);
  ASSERT_EQ(Judge(nodes).counts.fail(), 2U);
  EXPECT_EQ(Judge(nodes).findings[0].title(),
            "PFC enabled priorities 3,4,5, expected at most 2 (capability of the NIC)");
  for (auto& node : nodes) NetdevOf(node, 0).mutable_dcb()->mutable_pfc()->set_capability(0);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "not reported";
  for (auto& node : nodes) NetdevOf(node, 0).set_driver("ice");
  EXPECT_EQ(Judge(nodes).findings[0].evidence(0).basis(), "Intel 800 series");
}

TEST(LosslessBufferApart, NamesLossyPrioritiesInTheSameBuffer) {
  auto nodes = Nodes(2, testing::RoceNode);
  testing::LayOutBuffers(*NetdevOf(nodes[0], 1).mutable_dcb(), 0x0b);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "lossless_buffer_apart");
  EXPECT_EQ(finding.title(),
            "receive buffer 1 of priority 3 shared with priorities 0,1 without PFC, expected a "
            "separate buffer for priorities with PFC (PFC is on for 3)");
  EXPECT_EQ(
      finding.remedies(0).command(),
      "dcb pfc set dev rail1 prio-pfc all:off && dcb pfc set dev rail1 prio-pfc all:off 3:on");
  EXPECT_EQ(finding.remedies(2).command(), "") << "buffers set by hand stop the driver";
}

TEST(LosslessBufferApart, NamesABufferWithoutSize) {
  auto nodes = Nodes(2, testing::RoceNode);
  v1::PriorityBuffers& buffers = *NetdevOf(nodes[0], 0).mutable_dcb()->mutable_buffers();
  buffers.set_size_bytes(1, 0);
  EXPECT_THAT(TheFailure(nodes).title(),
              HasSubstr("receive buffer 1 of priority 3 without a size"));
  buffers.clear_priority_to_buffer();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(LosslessBufferHasHeadroom, DependsOnSpeedCableAndMtu) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::NetInterface& netdev = NetdevOf(nodes[0], 0);
  netdev.mutable_dcb()->mutable_buffers()->set_size_bytes(1, 56'093);  // One byte more than needed
  EXPECT_THAT(Failures(nodes), IsEmpty());
  netdev.mutable_dcb()->mutable_buffers()->set_size_bytes(1, 56'092);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "size of receive buffer 1 of priority 3 56092, expected more than 56092 bytes "
            "(100 Gb/s, 7 m of cable, MTU 9000)");
  EXPECT_EQ(finding.remedies(0).command(), "dcb pfc set dev rail0 delay 7");
  netdev.set_speed_bps(800'000'000'000);
  EXPECT_THAT(Failures(nodes), ::testing::Not(::testing::Contains(::testing::HasSubstr("buffer"))))
      << "no numbers are known above 400 Gb/s";
  netdev.clear_speed_bps();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(CableLengthCoversLink, IsComparedWithTheProfile) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  v1::Expectations expect;
  expect.set_cable_length_m(30);
  for (auto& node : nodes) NetdevOf(node, 0).mutable_dcb()->set_cable_length_m(50);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  NetdevOf(nodes[1], 0).mutable_dcb()->set_cable_length_m(7);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.title(), "cable length 7 m, expected at least 30 m (profile test)");
  EXPECT_EQ(finding.remedies(1).command(), "mlnx_qos -i rail0 --cable_len 30");
  NetdevOf(nodes[1], 0).mutable_dcb()->clear_cable_length_m();
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(PfcStormPreventionOn, ComparesWithRailAndProfile) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  NetdevOf(nodes[1], 0).set_pfc_storm_prevention_ms(8000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "how long is for the site to choose";
  NetdevOf(nodes[1], 0).set_pfc_storm_prevention_ms(0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "PFC storm prevention off, expected on (2 of 3 nodes with mlx5_core on rail 0)");
  EXPECT_EQ(finding.remedies(0).command(), "ethtool --set-tunable rail0 pfc-prevention-tout 65535");
  v1::Expectations expect;
  expect.set_pfc_storm_prevention(false);
  EXPECT_THAT(Failures({nodes[1]}, Expecting(expect)), IsEmpty());
  EXPECT_THAT(Failures({nodes[0]}, Expecting(expect)),
              ElementsAre("pfc_storm_prevention_on n1/mlx5_0/1"));
  NetdevOf(nodes[1], 0).clear_pfc_storm_prevention_ms();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(DcbxModeIsHost, NamesTheFirmware) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 1});
  NetdevOf(nodes[2], 0).mutable_dcb()->mutable_dcbx()->set_host(false);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "owner of DCBX firmware, expected host (2 of 3 nodes with mlx5_core on rail 0)");
  EXPECT_EQ(finding.remedies(1).command(), "mlnx_qos -i rail0 -d os");
  NetdevOf(nodes[2], 0).set_driver("ice");
  v1::Expectations expect;
  expect.set_dcbx_host(true);
  EXPECT_EQ(TheFailure(nodes, Expecting(expect)).remedies(0).command(),
            "ethtool --set-priv-flags rail0 fw-lldp-agent off");
  NetdevOf(nodes[2], 0).mutable_dcb()->clear_dcbx();
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
}

TEST(BondMembersSettingsEqual, NamesTheMembersThatDiffer) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) {
    v1::NetInterface other = NetdevOf(node, 0);
    other.set_name("rail0b");
    *node.add_net_interfaces() = other;
    NetdevOf(node, 0).set_name("rail0a");
    v1::NetInterface& bond = *node.add_net_interfaces();
    bond.set_name("rail0");
    bond.mutable_bond()->add_members("rail0a");
    bond.mutable_bond()->add_members("rail0b");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::DcbConfig& member = *nodes[1].mutable_net_interfaces(2)->mutable_dcb();
  member.mutable_pfc()->set_enabled_mask(0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "bond_members_settings_equal");
  EXPECT_EQ(finding.title(),
            "PFC enabled priorities of bond members 3 on rail0a, none on rail0b, expected the "
            "same (members of rail0)");
  member.mutable_pfc()->set_enabled_mask(8);
  member.set_trust(v1::TRUST_PCP);
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("dscp on rail0a, pcp on rail0b"));
  nodes[1].mutable_net_interfaces(2)->clear_dcb();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
