// switch_pfc_equals_host, switch_app_equals_host, switch_class_of_data_apart,
// switch_mtu_covers_host, dcbx_one_side_decides, rail_on_expected_leaf, switch_port_of_one_node
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
using testing::NeighborOf;
using testing::Nodes;
using Fleet = std::vector<v1::NodeSnapshot>;

Fleet Wired(std::uint32_t count, std::uint32_t rails = 2) {
  Fleet nodes = Nodes(count, testing::RoceNode, {.rails = rails});
  testing::WireByRail(nodes);
  return nodes;
}

TEST(Switches, PassWhenTheyAgreeWithTheirHosts) {
  EXPECT_THAT(Failures(Wired(4)), IsEmpty());
  EXPECT_THAT(Unknowns(Wired(4)), IsEmpty());
}

TEST(SwitchPfc, ReportsTheLinkOfOnePort) {
  Fleet nodes = Wired(4);
  NeighborOf(nodes[1], 0).mutable_pfc()->set_enabled_mask(0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "switch_pfc_equals_host");
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_LINK);
  EXPECT_EQ(finding.subject().switch_name(), "leaf0");
  EXPECT_EQ(finding.subject().switch_port(), "swp2");
  EXPECT_EQ(finding.title(), "switch port leaf0 swp2: PFC enabled priorities none, expected 3");
  EXPECT_EQ(finding.evidence(0).source(), "LLDP rail0 of n2");
  EXPECT_EQ(finding.remedies(0).command(), "config interface pfc priority swp2 3 on");
}

TEST(SwitchPfc, ReportsTheSwitchForAllPorts) {
  Fleet nodes = Wired(40);
  for (auto& node : nodes) NeighborOf(node, 0).mutable_pfc()->set_enabled_mask(0);
  NeighborOf(nodes[7], 0).mutable_pfc()->set_enabled_mask(1U << 3);  // Already repaired
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_SWITCH);
  EXPECT_EQ(finding.subject().switch_name(), "leaf0");
  EXPECT_THAT(finding.title(),
              HasSubstr("switch leaf0, 39 ports: PFC enabled priorities none, expected 3"));
  EXPECT_EQ(finding.evidence_size(), 39);
}

TEST(SwitchPfc, IsUnknownWhenNotAnnounced) {
  Fleet nodes = Wired(3);
  for (auto& node : nodes) NeighborOf(node, 1).clear_pfc();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("switch_pfc_equals_host switch leaf1"));
  for (auto& node : nodes) {
    NeighborOf(node, 1).clear_applications();
    NeighborOf(node, 1).set_application_announced(false);
  }
  EXPECT_THAT(Unknowns(nodes), IsEmpty()) << "one without DCBX tells nothing";
}

TEST(SwitchPfc, IsNotComparedWithAHostThatDiffersFromItsRail) {
  Fleet nodes = Wired(4);
  testing::SetPfc(nodes[1], 0, 1U << 4);
  EXPECT_THAT(Failures(nodes), ElementsAre("pfc_equal_on_rail n2/mlx5_0/1"));
}

TEST(SwitchPfc, ReportsAHostOnceForAllItsLinks) {
  Fleet nodes = Wired(1, 4);
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    NeighborOf(nodes[0], rail).mutable_pfc()->set_enabled_mask(1U << 4);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_NODE);
  EXPECT_THAT(finding.title(), HasSubstr("all 4 links: PFC enabled priorities 4, expected 3"));
}

TEST(SwitchPfc, PassesWhenNeitherHasIt) {
  Fleet nodes = Wired(2);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::SetPfc(node, rail, 0);
      NeighborOf(node, rail).clear_pfc();
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(SwitchApp, NamesThePriorityOfTheSwitch) {
  Fleet nodes = Wired(3);
  NeighborOf(nodes[2], 1).mutable_applications(0)->set_priority(5);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "switch_app_equals_host");
  EXPECT_EQ(finding.title(), "switch port leaf1 swp3: priority of RoCE 5, expected 3");
}

TEST(SwitchClass, OfRoceIsNotShared) {
  Fleet nodes = Wired(3);
  for (auto& node : nodes) {
    v1::LldpEts& ets = *NeighborOf(node, 0).mutable_ets_configuration();
    for (const std::uint32_t tc : {1U, 1U, 1U, 0U, 1U, 1U, 2U, 1U}) ets.add_priority_to_tc(tc);
  }
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "numbers of classes may differ";
  NeighborOf(nodes[1], 0).mutable_ets_configuration()->set_priority_to_tc(3, 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "switch_class_of_data_apart");
  EXPECT_EQ(finding.title(),
            "switch port leaf0 swp2: priorities in the traffic class of RoCE 0,1,2,3,4,5,7, "
            "expected 3");
}

TEST(SwitchMtu, TooSmallForTheHostFails) {
  Fleet nodes = Wired(3);
  NeighborOf(nodes[0], 0).set_max_frame_bytes(1522);
  EXPECT_EQ(TheFailure(nodes).title(),
            "switch port leaf0 swp1: maximum frame 1522 bytes, expected at least 9022 bytes for "
            "the host's MTU 9000");
  NeighborOf(nodes[0], 0).set_max_frame_bytes(9000);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "some announce the MTU";
  NeighborOf(nodes[0], 0).clear_max_frame_bytes();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(Dcbx, FailsWhenBothEndsAreWilling) {
  Fleet nodes = Wired(3);
  NeighborOf(nodes[1], 0).mutable_pfc()->set_willing(true);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the host decides";
  for (auto& node : nodes) {
    v1::DcbxMode& dcbx = *testing::NetdevOf(node, 0).mutable_dcb()->mutable_dcbx();
    dcbx.set_host(false);
    dcbx.set_lld_managed(true);
  }
  EXPECT_THAT(Failures(nodes), ElementsAre("dcbx_one_side_decides n2/mlx5_0/1"));
}

void SwapCables(v1::NodeSnapshot& node, std::uint32_t a, std::uint32_t b) {
  NeighborOf(node, a).Swap(&NeighborOf(node, b));
  NeighborOf(node, a).set_netdev(Format("rail{}", a));
  NeighborOf(node, b).set_netdev(Format("rail{}", b));
}

TEST(RailWiring, SwappedCablesAreOneFindingOfTheNode) {
  for (const std::uint32_t rails : {2U, 8U}) {
    Fleet nodes = Wired(3, rails);
    SwapCables(nodes[2], 0, 1);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), "rail_on_expected_leaf");
    EXPECT_EQ(finding.subject().node(), "n3");
    EXPECT_EQ(finding.title(),
              "rail 0 (rail0) is on leaf1 swp3, expected leaf0, rail 1 (rail1) is on leaf0 swp3, "
              "expected leaf1");
    EXPECT_EQ(finding.evidence(0).basis(), "2 of 3 nodes of this part of the fabric");
  }
}

TEST(RailWiring, TwoPortsOnOneSwitchIsAFindingOfTheLink) {
  Fleet nodes = Wired(4, 4);
  NeighborOf(nodes[0], 3).set_chassis_id("chassis of leaf2");
  NeighborOf(nodes[0], 3).set_system_name("leaf2");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_LINK);
  EXPECT_EQ(finding.subject().switch_name(), "leaf2");
}

TEST(RailWiring, LeavesOfAnotherUnitAreOthers) {
  Fleet nodes = Wired(8, 4);
  for (std::size_t i = 4; i < 8; ++i)
    for (std::uint32_t rail = 0; rail < 4; ++rail) {
      NeighborOf(nodes[i], rail).set_chassis_id(Format("unit 2, leaf {}", rail));
      NeighborOf(nodes[i], rail).set_system_name(Format("unit2-leaf{}", rail));
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  NeighborOf(nodes[0], 2).set_chassis_id("unit 2, leaf 2");
  NeighborOf(nodes[0], 2).set_system_name("unit2-leaf2");
  EXPECT_THAT(TheFailure(nodes).title(), HasSubstr("is on unit2-leaf2 swp1, expected leaf2"));
}

TEST(RailWiring, OfOtherDesignsIsFine) {
  Fleet nodes = Wired(4, 4);
  for (auto& node : nodes)  // One switch on top of the rack
    for (std::uint32_t rail = 0; rail < 4; ++rail) NeighborOf(node, rail).set_chassis_id("top");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = Wired(6, 2);
  for (std::size_t i = 0; i < 3; ++i) SwapCables(nodes[i], 0, 1);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "no design at all: nobody is odd";
}

// Rail 0 of n1 and n3 receive LLDP from one port of leaf0.
Fleet OnOnePort() {
  Fleet nodes = Wired(4);
  NeighborOf(nodes[2], 0).set_port_id("swp1");
  return nodes;
}

TEST(SwitchPort, ReportsTwoNodesOnce) {
  const v1::Finding finding = TheFailure(OnOnePort());
  EXPECT_EQ(finding.rule(), "switch_port_of_one_node");
  EXPECT_EQ(finding.title(),
            "switch port leaf0 swp1 is on 2 ports, expected on one: n1/mlx5_0/1, n3/mlx5_0/1");
  EXPECT_EQ(finding.evidence(1).seen(), "leaf0 swp1");
  EXPECT_EQ(finding.evidence(1).source(), "LLDP rail0");
  EXPECT_EQ(finding.remedies(0).command(), "lldpcli show neighbors ports rail0 details");
}

TEST(SwitchPort, PassesForACardOfSeveralHosts) {
  Fleet nodes = OnOnePort();
  for (const int node : {0, 2})
    testing::DeviceOf(nodes[node], 0).set_sys_image_guid("0c42:a103:0065:1234");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(SwitchPort, IgnoresDescriptionsAndPortsThatAreDown) {
  Fleet nodes = OnOnePort();
  NeighborOf(nodes[2], 0).set_port_id_subtype(1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = OnOnePort();
  testing::LinkDown(nodes[2], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n3/mlx5_0/1"));
}

TEST(SwitchPort, PassesForTwoSwitchesWithOneName) {
  Fleet nodes = OnOnePort();
  NeighborOf(nodes[2], 0).set_chassis_id("another one");
  EXPECT_THAT(Failures(nodes), ::testing::Not(::testing::Contains(HasSubstr("one_node"))));
}

}  // namespace
}  // namespace fabric::rules
