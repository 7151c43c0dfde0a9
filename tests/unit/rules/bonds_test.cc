// roce_lag_formed, bond_within_one_card, bond_member_speeds_equal, bond_members_active,
// bond_hash_policy
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::PortOf;
using Node = v1::NodeSnapshot;

// Both ports of one card in bond0, and one RDMA device over it.
Node BondedNode(std::uint32_t number = 1) {
  Node node = testing::RoceNode({.number = number});
  testing::FunctionOfRail(node, 1).set_address("0000:17:00.1");
  node.mutable_rdma_devices()->RemoveLast();
  v1::NetInterface bond = NetdevOf(node, 0);
  bond.set_name("bond0");
  bond.clear_pci_address();
  bond.clear_driver();
  bond.mutable_bond()->set_mode("802.3ad");
  bond.mutable_bond()->set_transmit_hash_policy("layer3+4");
  for (std::uint32_t rail = 0; rail < 2; ++rail) {
    v1::NetInterface& member = NetdevOf(node, rail);
    member.set_pci_address(Format("0000:17:00.{}", rail));
    member.set_master("bond0");
    member.clear_addresses();
    member.mutable_bond_member()->set_active(true);
    member.mutable_bond_member()->set_mii_up(true);
    bond.mutable_bond()->add_members(member.name());
  }
  v1::Port& port = PortOf(node, 0);
  port.set_netdev("bond0");
  for (v1::Gid& gid : *port.mutable_gids()) gid.set_netdev("bond0");
  port.mutable_lag()->set_bond("bond0");
  port.mutable_lag()->set_formed(true);
  *bond.mutable_dcb() = NetdevOf(node, 0).dcb();
  *node.add_net_interfaces() = bond;
  return node;
}

v1::NetInterface& BondOf(Node& node) {
  return *node.mutable_net_interfaces(node.net_interfaces_size() - 1);
}

TEST(Bonds, PassWhenConfiguredCorrectly) {
  EXPECT_THAT(Failures({BondedNode(1), BondedNode(2)}), IsEmpty());
}

TEST(RoceLagFormed, FailsWithTheReason) {
  Node node = BondedNode();
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
  Node node = BondedNode();
  NetdevOf(node, 1).set_speed_bps(25'000'000'000);
  EXPECT_EQ(TheFailure({node}).title(),
            "members of bond0 with different speeds: rail0 100 Gb/s, rail1 25 Gb/s, expected one "
            "speed");
  NetdevOf(node, 1).clear_speed_bps();
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondWithinOneCard, FailsWithOneFinding) {
  Node node = BondedNode();
  NetdevOf(node, 1).set_pci_address("0000:86:00.0");
  testing::FunctionAt(node, "0000:17:00.1").set_address("0000:86:00.0");
  PortOf(node, 0).mutable_lag()->set_formed(false);
  const v1::Finding finding = TheFailure({node});
  EXPECT_EQ(finding.rule(), "bond_within_one_card");
  EXPECT_THAT(finding.title(), HasSubstr("rail0 at 0000:17:00.0, rail1 at 0000:86:00.0"));
}

TEST(BondMembersActive, NamesTheMember) {
  Node node = BondedNode();
  NetdevOf(node, 1).mutable_bond_member()->set_active(false);
  EXPECT_EQ(TheFailure({node}).title(),
            "member rail1 of bond0 is not part of the aggregate, expected active");
  NetdevOf(node, 1).set_carrier(false);
  EXPECT_EQ(TheFailure({node}).title(), "member rail1 of bond0 has no link, expected active");
  BondOf(node).mutable_bond()->set_mode("active-backup");
  EXPECT_THAT(Failures({node}), IsEmpty());
}

TEST(BondHashPolicy, FailsForTheDefault) {
  Node node = BondedNode();
  BondOf(node).mutable_bond()->set_transmit_hash_policy("layer2");
  const v1::Finding finding = TheFailure({node});
  EXPECT_EQ(finding.severity(), v1::SEVERITY_INFO);
  EXPECT_EQ(finding.remedies(0).command(),
            "ip link set dev bond0 type bond xmit_hash_policy layer3+4");
}

TEST(Bonds, SkipFrontEndBonds) {
  Node node = BondedNode();
  *node.add_rdma_devices() = testing::InfinibandNode({.rails = 3}).rdma_devices(2);
  BondOf(node).mutable_bond()->set_transmit_hash_policy("layer2");
  PortOf(node, 0).mutable_lag()->set_formed(false);
  NetdevOf(node, 1).mutable_bond_member()->set_active(false);
  EXPECT_THAT(Failures({node}), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
