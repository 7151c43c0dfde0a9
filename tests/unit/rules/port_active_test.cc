#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;

TEST(PortActive, FailsForTheOnePortThatIsDown) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::LinkDown(nodes[1], 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "port_active");
  EXPECT_EQ(finding.severity(), v1::SEVERITY_CRITICAL);
  EXPECT_EQ(finding.subject().node(), "n2");
  EXPECT_EQ(finding.subject().netdev(), "rail1");
  EXPECT_EQ(finding.title(), "port is DOWN (Polling), expected ACTIVE (LinkUp)");
  ASSERT_EQ(finding.evidence_size(), 3);
  EXPECT_EQ(finding.evidence(0).basis(), "2 of 3 ports of rail 1 are ACTIVE");
  EXPECT_EQ(finding.evidence(0).source(), "sys/class/infiniband/rxe1/ports/1/state");
  EXPECT_EQ(finding.evidence(0).read_at().seconds(), 1'700'000'002);
  EXPECT_EQ(finding.remedies(0).command(), "ip link set dev rail1 up");
}

TEST(PortActive, FailsOnARailThatIsDownEverywhereWhenItHasAddresses) {
  auto nodes = Nodes(2, testing::LabNode);
  for (auto& node : nodes) testing::LinkDown(node, 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/rxe0/1", "port_active n2/rxe0/1"));
}

TEST(PortActive, SkipsUnusedPorts) {
  auto nodes = Nodes(2, testing::LabNode);
  for (auto& node : nodes) {
    testing::DropAddress(node, 1);
    testing::LinkDown(node, 1);
    testing::NetdevOf(node, 1).add_addresses("fe80::1/64");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(PortActive, SkipsPortsUnusedByProfile) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::LinkDown(nodes[0], 1);
  testing::SetMtu(nodes[1], 0, 1500);
  v1::Expectations unused;
  unused.set_unused(true);
  EXPECT_THAT(Failures(nodes), ElementsAre("mtu_equal_on_rail n2/rxe0/1", "port_active n1/rxe1/1"));
  EXPECT_THAT(Failures(nodes, Expecting(unused)), IsEmpty());
}

TEST(PortActive, IgnoresOtherKindsOfCards) {
  auto nodes = Nodes(2, testing::RoceNode, {.rails = 1, .gpu = false});
  testing::DropAddress(nodes[1], 0);
  testing::LinkDown(nodes[1], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n2/mlx5_0/1"));
  testing::DeviceOf(nodes[1], 0).set_model("ConnectX-4 Lx");
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PortActive, FailsForInfinibandPortsThatWaitForASubnetManager) {
  auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 1});
  testing::PortOf(nodes[0], 0).set_state(v1::PORT_STATE_INIT);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(),
            "port is INIT (LinkUp), expected ACTIVE (LinkUp): no subnet manager has configured it");
  EXPECT_EQ(finding.remedies(0).command(), "sminfo -C mlx5_0 -P 1");
}

TEST(PortActive, IsUnknownWhenTheStateCouldNotBeRead) {
  auto nodes = Nodes(2, testing::LabNode);
  testing::PortOf(nodes[0], 0).clear_state();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("port_active n1/rxe0/1"));
}

TEST(PortActive, PassesWithoutAPhysicalState) {
  auto nodes = Nodes(1, testing::IwarpNode);
  testing::PortOf(nodes[0], 0).clear_physical_state();
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(PortActive, TakesInitAndArmedAsALinkWithoutAPhysicalState) {
  for (const v1::PortState state : {v1::PORT_STATE_INIT, v1::PORT_STATE_ARMED}) {
    auto nodes = Nodes(1, testing::InfinibandNode, {.rails = 2, .gpu = false});
    for (const std::uint32_t rail : {0U, 1U}) {
      testing::NetdevOf(nodes[0], rail).clear_addresses();
      testing::PortOf(nodes[0], rail).clear_physical_state();
    }
    EXPECT_THAT(Failures(nodes), IsEmpty());
    testing::PortOf(nodes[0], 1).set_state(state);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), "port_active");
    EXPECT_EQ(finding.evidence(0).basis(), "it has a link");
    EXPECT_EQ(finding.evidence(1).seen(), "physical state not reported");
  }
}

TEST(PortActive, NeedsAllPortsOfANodeWithTheNumberOfTheProfile) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 8, .gpu = false});
  testing::DropAddress(nodes[0], 3);
  testing::LinkDown(nodes[0], 3);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  v1::Expectations expect;
  expect.set_fabric_ports(8);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "port_active");
  EXPECT_EQ(finding.evidence(0).basis(), "profile test: 8 fabric ports");
  expect.set_fabric_ports(7);
  for (const std::string& failure : Failures(nodes, Expecting(expect)))
    EXPECT_EQ(failure, "fabric_port_count_equal n1");
}

}  // namespace
}  // namespace fabric::rules
