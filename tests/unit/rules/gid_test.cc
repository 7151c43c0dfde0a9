// roce_v2_gid_present and duplicate_gid
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;
using ::testing::Not;

TEST(RoceV2GidPresent, FailsWithOnlyLinkLocalGids) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::DropAddress(nodes[1], 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "roce_v2_gid_present");
  EXPECT_EQ(finding.title(),
            "RoCE v2 GIDs: only link-local ones, expected one with a routable address");
  EXPECT_EQ(finding.remedies(0).command(), "ip address add ADDRESS/PREFIX dev rail1");
}

TEST(RoceV2GidPresent, FailsWithOnlyRoceV1) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  for (auto& gid : *testing::PortOf(nodes[0], 0).mutable_gids()) gid.set_type(v1::GID_TYPE_ROCE_V1);
  EXPECT_EQ(TheFailure(nodes).title(), "RoCE v2 GIDs: none, expected one with a routable address");
}

TEST(RoceV2GidPresent, AnEmptyTableIsOneFinding) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  testing::PortOf(nodes[0], 0).clear_gids();
  EXPECT_EQ(TheFailure(nodes).title(),
            "RoCE v2 GIDs: no GID at all, expected one with a routable address");
  for (const std::string& unknown : Unknowns(nodes)) EXPECT_THAT(unknown, Not(HasSubstr("gid")));
  EXPECT_THAT(Unknowns(nodes), Not(Contains(HasSubstr("roce_vlan_equal_on_rail"))));
}

TEST(RoceV2GidPresent, SkipsCardsWithoutRoceV2) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  for (auto& gid : *testing::PortOf(nodes[0], 0).mutable_gids()) gid.set_type(v1::GID_TYPE_ROCE_V1);
  testing::DeviceOf(nodes[0], 0).set_model("ConnectX-3");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::DeviceOf(nodes[0], 0).set_model("OneConnect");
  testing::DeviceOf(nodes[0], 0).set_driver("be2net");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RoceV2GidPresent, SkipsPortsOfABridge) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  testing::DropAddress(nodes[0], 0);
  testing::NetdevOf(nodes[0], 0).set_master("br0");
  auto& bridge = *nodes[0].add_net_interfaces();
  bridge.set_name("br0");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  bridge.mutable_bond()->set_mode("active-backup");
  EXPECT_THAT(Failures(nodes), ElementsAre("roce_v2_gid_present n1/mlx5_0/1"))
      << "a bond that has lost its address";
}

TEST(RoceV2GidPresent, SkipsPortsOfOpenVswitch) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 1});
  testing::DropAddress(nodes[0], 0);
  testing::NetdevOf(nodes[0], 0).set_master("ovs-system");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the interface of the switch is not in the snapshot";
  testing::NetdevOf(nodes[0], 0).set_master("bond7");
  auto& bond = *nodes[0].add_net_interfaces();
  bond.set_name("bond7");
  bond.mutable_bond()->set_mode("802.3ad");
  bond.set_master("ovs-system");
  EXPECT_THAT(Failures(nodes), Not(Contains("roce_v2_gid_present n1/mlx5_0/1")));
}

// Hypervisors, and nodes whose containers have virtual functions.
TEST(RoceV2GidPresent, SkipsPortsThatAreUsedThroughVirtualFunctions) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 2});
  for (const std::uint32_t rail : {0u, 1u}) {
    testing::DropAddress(nodes[0], rail);
    testing::FunctionOfRail(nodes[0], rail).set_sriov_vfs(8);
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  nodes = Nodes(1, testing::RoceNode, {.rails = 2});
  for (const std::uint32_t rail : {0u, 1u})
    testing::FunctionOfRail(nodes[0], rail).set_sriov_vfs(8);
  testing::DropAddress(nodes[0], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("roce_v2_gid_present n1/mlx5_0/1"))
      << "an equal port has an address";
}

TEST(RoceV2GidPresent, PassesWithIpv6) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  auto& gid = *testing::PortOf(nodes[0], 0).mutable_gids(1);
  gid.set_gid("fd00:0000:0000:0000:0000:0000:0000:0001");
  gid.set_ipv4("");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(RoceV2GidPresent, IsUnknownWhenGidTypesAreUnreadable) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  for (auto& gid : *testing::PortOf(nodes[0], 0).mutable_gids()) gid.clear_type();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("roce_v2_gid_present n1/rxe0/1"));
}

TEST(RoceV2GidPresent, IsUnknownWhenPartOfTheTableIsUnreadable) {
  auto nodes = Nodes(1, testing::LabNode, {.rails = 1});
  testing::DropAddress(nodes[0], 0);
  v1::Gap& gap = *nodes[0].add_gaps();
  gap.set_path("sys/class/infiniband/rxe0/ports/1/gids/1");
  gap.set_reason("Input/output error");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_EQ(Judge(nodes).findings[0].title(), "GIDs could not be read: Input/output error");
}

TEST(DuplicateGid, NamesBothPortsOnceForAllTypesOfOneAddress) {
  auto nodes = Nodes(3, testing::RoceNode);
  testing::SetAddress(nodes[2], 0, "10.10.0.1");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_FLEET);
  EXPECT_EQ(finding.title(),
            "GID 10.10.0.1 is on 2 ports, expected on one: n1/mlx5_0/1, n3/mlx5_0/1");
  ASSERT_EQ(finding.evidence_size(), 2);
  EXPECT_EQ(finding.evidence(1).source(), "sys/class/infiniband/mlx5_0/ports/1/gids/2");
  EXPECT_EQ(finding.evidence(1).read_at().seconds(), 1'700'000'003);
}

TEST(DuplicateGid, FailsAcrossRails) {
  auto nodes = Nodes(2, testing::LabNode);
  testing::SetAddress(nodes[1], 1, "10.10.0.1");
  EXPECT_EQ(TheFailure(nodes).rule(), "duplicate_gid");
}

TEST(DuplicateGid, GivesOneFindingForEachPair) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetAddress(nodes[1], 0, "10.10.0.1");
  testing::SetAddress(nodes[3], 0, "10.10.0.3");
  EXPECT_THAT(Failures(nodes), ElementsAre("duplicate_gid fleet", "duplicate_gid fleet"));
  const Evaluation evaluation = Judge(nodes);
  EXPECT_NE(evaluation.findings[0].id(), evaluation.findings[1].id());
}

TEST(DuplicateGid, IgnoresLinkLocalGidsAndTheAddressOfABond) {
  auto nodes = Nodes(1, testing::LabNode);
  for (std::uint32_t rail = 0; rail < 2; ++rail) {
    auto& gids = *testing::PortOf(nodes[0], rail).mutable_gids();
    gids[0].set_gid("fe80:0000:0000:0000:0000:0000:0000:0001");
    gids[1].set_gid(testing::MappedGid("10.10.0.1"));
    gids[1].set_netdev("bond0");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
