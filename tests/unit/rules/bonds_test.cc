// roce_lag_formed, bond_within_one_card, bond_member_speeds_equal, bond_members_active,
// bond_hash_policy
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/complete_nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::PortOf;
using Node = v1::NodeSnapshot;

v1::NetInterface& BondOf(Node& node) {
  return *node.mutable_net_interfaces(node.net_interfaces_size() - 1);
}

TEST(Bonds, PassWhenConfiguredCorrectly) {
  EXPECT_THAT(Failures({BondedNode({.number = 1}), BondedNode({.number = 2})}), IsEmpty());
}

TEST(RoceLagFormed, FailsWithTheReason) {
  Node node = BondedNode({});
  PortOf(node, 0).mutable_lag()->set_formed(false);
  PortOf(node, 0).mutable_lag()->set_reason("the driver's debugfs says 'disabled'");
  const v1::Finding finding = TheFailure({node});
  EXPECT_EQ(finding.rule(), "roce_lag_formed");
  EXPECT_EQ(finding.title(),
            "no RoCE LAG over bond0: the driver's debugfs says 'disabled', expected one RDMA "
            "device for the bond");
  BondOf(node).mutable_bond()->set_mode("active-backup");
  EXPECT_THAT(Failures({node}), IsEmpty()) << "one that takes over needs none";
  PortOf(node, 0).mutable_lag()->clear_formed();
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondMemberSpeeds, AreEqual) {
  Node node = BondedNode({});
  NetdevOf(node, 1).set_speed_bps(25'000'000'000);
  EXPECT_EQ(TheFailure({node}).title(),
            "members of bond0 with different speeds: rail0 100 Gb/s, rail1 25 Gb/s, expected one "
            "speed");
  NetdevOf(node, 1).clear_speed_bps();
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondWithinOneCard, FailsWithOneFinding) {
  Node node = BondedNode({});
  NetdevOf(node, 1).set_pci_address("0000:86:00.0");
  testing::FunctionAt(node, "0000:17:00.1").set_address("0000:86:00.0");
  PortOf(node, 0).mutable_lag()->set_formed(false);
  const v1::Finding finding = TheFailure({node});
  EXPECT_EQ(finding.rule(), "bond_within_one_card");
  EXPECT_THAT(finding.title(), HasSubstr("rail0 at 0000:17:00.0, rail1 at 0000:86:00.0"));
}

TEST(BondMembersActive, NamesTheMember) {
  Node node = BondedNode({});
  NetdevOf(node, 1).mutable_bond_member()->set_active(false);
  EXPECT_EQ(TheFailure({node}).title(),
            "member rail1 of bond0 is not part of the aggregate, expected active");
  NetdevOf(node, 1).set_carrier(false);
  EXPECT_EQ(TheFailure({node}).title(), "member rail1 of bond0 has no link, expected active");
  BondOf(node).mutable_bond()->set_mode("active-backup");
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondHashPolicy, FailsForTheDefault) {
  Node node = BondedNode({});
  BondOf(node).mutable_bond()->set_transmit_hash_policy("layer2");
  const v1::Finding finding = TheFailure({node});
  EXPECT_EQ(finding.severity(), v1::SEVERITY_INFO);
  EXPECT_EQ(finding.remedies(0).command(),
            "ip link set dev bond0 type bond xmit_hash_policy layer3+4");
}

TEST(Bonds, SkipFrontEndBonds) {
  Node node = BondedNode({});
  *node.add_rdma_devices() = testing::InfinibandNode({.rails = 3}).rdma_devices(2);
  BondOf(node).mutable_bond()->set_transmit_hash_policy("layer2");
  PortOf(node, 0).mutable_lag()->set_formed(false);
  NetdevOf(node, 1).mutable_bond_member()->set_active(false);
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondMembersSettings, AreComparedBeyondPfc) {
  const auto fault_of = [](auto change) {
    Node node = BondedNode({});
    change(NetdevOf(node, 1));
    return Failures({node});
  };
  const auto is_the_rule = ElementsAre("bond_members_settings_equal n1/mlx5_0/1");
  EXPECT_THAT(fault_of([](auto& member) { member.mutable_global_pause()->set_rx(true); }),
              is_the_rule);
  EXPECT_THAT(fault_of([](auto& member) {
                member.mutable_congestion_control()->set_notification_point_enabled(3, false);
              }),
              is_the_rule);
  EXPECT_THAT(
      fault_of([](auto& member) { member.mutable_dcb()->mutable_ets()->set_priority_to_tc(3, 1); }),
      is_the_rule);
  EXPECT_THAT(fault_of([](auto& member) { member.mutable_dcb()->mutable_dcbx()->set_host(false); }),
              is_the_rule);
  EXPECT_THAT(fault_of([](auto& member) {
                member.mutable_dcb()->mutable_buffers()->set_priority_to_buffer(3, 0);
              }),
              is_the_rule);
  EXPECT_THAT(fault_of([](auto& member) { member.set_pfc_storm_prevention_ms(12); }), is_the_rule);
}

TEST(BondMembersSettings, ThatOneMemberDoesNotReportAreUnknown) {
  Node node = BondedNode({});
  NetdevOf(node, 1).mutable_dcb()->clear_trust();
  NetdevOf(node, 1).mutable_dcb()->clear_ets();
  const auto evaluation = Judge({node});
  std::vector<std::string> titles;
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule() == "bond_members_settings_equal") titles.push_back(finding.title());
  EXPECT_THAT(titles, ElementsAre("trust, ETS of rail1 could not be read, other members of the "
                                  "bond bond0 have them"));
}

TEST(BondMemberCountEqual, FailsForABondThatLostAMember) {
  std::vector<Node> nodes;
  for (std::uint32_t number = 1; number <= 3; ++number)
    nodes.push_back(BondedNode({.number = number}));
  EXPECT_THAT(Failures(nodes), IsEmpty());
  BondOf(nodes[1]).mutable_bond()->mutable_members()->RemoveLast();
  EXPECT_EQ(TheFailure(nodes).rule(), "bond_member_count_equal");
}

TEST(ModuleWithinLimits, JudgesAllMembersOfABond) {
  Node node = BondedNode({});
  v1::Module& module = *NetdevOf(node, 1).mutable_module();
  module.set_vendor("NVIDIA");
  module.set_part_number("MMA1B00");
  module.set_temperature_celsius(91);
  module.mutable_temperature_limits()->set_alarm_high(80);
  EXPECT_EQ(TheFailure({node}).title(),
            "module of rail1: temperature 91 degrees Celsius, expected at most 80 degrees Celsius");
}

}  // namespace
}  // namespace fabric::rules
