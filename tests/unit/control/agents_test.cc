// Agents come, go, fall silent, come back, and say things that cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

#include "proto/bounds.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

v1::NodeSnapshot N1() {
  return testing::RoceNode({.number = 1});
}

v1::AgentMessage Hello(const std::string& node) {
  v1::AgentMessage message;
  message.mutable_hello()->mutable_node()->set_name(node);
  return message;
}

class AgentsTest : public ::testing::Test {
 protected:
  Status Say(std::uint64_t session, const v1::AgentMessage& message) {
    return world_.controller->OnMessage(SessionId(session), message, world_.agents.now());
  }
  ControlWorld world_;
};

TEST_F(AgentsTest, HelloComesFirstAndOnce) {
  v1::AgentMessage snapshot;
  *snapshot.mutable_snapshot() = N1();
  EXPECT_EQ(Say(900, snapshot).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Say(900, Hello("n1")).ok());
  EXPECT_TRUE(Say(900, snapshot).ok());
  EXPECT_EQ(Say(900, Hello("n1")),
            Status(Code::kFailedPrecondition, "n1: expected one hello, saw a second one"));
}

TEST_F(AgentsTest, ANameMustBeOne) {
  EXPECT_EQ(Say(900, Hello("")),
            Status(Code::kInvalidArgument,
                   "node name: expected 1 to 253 letters, digits, '-', '.' and '_', saw ''"));
  for (const std::string name : {"n 1", "n1/x", "n1\n"})
    EXPECT_EQ(Say(900, Hello(name)).code(), Code::kInvalidArgument);
  EXPECT_EQ(Say(900, Hello(std::string(254, 'n'))).code(), Code::kInvalidArgument);
  EXPECT_TRUE(Say(900, Hello("gpu-07.rack_1.example")).ok());
}

TEST_F(AgentsTest, AppearAreLostAndComeBack) {
  world_.ConnectNodes(2);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  world_.agents.Disconnect("n1", "reset by peer");
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_LOST);
  EXPECT_EQ(world_.Node("n1").lost_reason(), "connection closed: reset by peer");
  world_.agents.Advance(5s);
  ASSERT_TRUE(world_.agents.Connect(N1()).ok());
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(world_.Node("n1").lost_reason(), "");
  EXPECT_THAT(world_.log.Lines(),
              ElementsAre("node n1 connected", "node n2 connected", "node n1 lost",
                          "finding n1 open", "node n1 connected"));
}

TEST_F(AgentsTest, OneThatIsSilentIsLostAndWakes) {
  world_.ConnectNodes(2);
  world_.agents.Mute("n1", true);
  world_.agents.Advance(2900ms);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  world_.agents.Advance(100ms);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_LOST);
  EXPECT_EQ(world_.Node("n1").lost_reason(), "no message for 3.0 s");
  EXPECT_EQ(world_.Node("n2").state(), v1::NODE_STATE_CONNECTED) << "heartbeats count";
  world_.agents.Mute("n1", false);
  world_.agents.Advance(100ms);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(world_.agents.snapshot_requests(), 1u);
}

TEST_F(AgentsTest, WhatTheControllerSleptThroughIsNoSilence) {
  world_.ConnectNodes(2);
  Moment now = world_.agents.now();
  now.steady += 10s;  // The machine of the controller was suspended; nobody is heard yet.
  world_.controller->Tick(now);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  for (int tick = 0; tick < 29; ++tick) {
    now.steady += 100ms;
    world_.controller->Tick(now);
  }
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  now.steady += 100ms;
  world_.controller->Tick(now);
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_LOST) << "it listened for 3 s";
}

TEST_F(AgentsTest, ANewSessionOfTheSameMachineReplacesTheOld) {
  world_.ConnectNodes(2);
  const SessionId old = world_.agents.SessionOf("n1");
  ASSERT_TRUE(world_.agents.Connect(N1()).ok());
  ASSERT_TRUE(world_.agents.closed().contains(old));
  EXPECT_EQ(world_.agents.closed().at(old).message(), "replaced by a newer session of node n1");
  world_.controller->OnGone(old, "closed", world_.agents.now());
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED) << "that was the old one";
}

TEST_F(AgentsTest, TwoMachinesCannotClaimOneName) {
  world_.ConnectNodes(1);
  v1::NodeSnapshot other = N1();
  const std::string theirs = "machine-of-another";
  other.mutable_node()->set_machine_id(theirs);
  v1::AgentMessage hello;
  *hello.mutable_hello()->mutable_node() = other.node();
  const Status refused = Say(900, hello);
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("'" + theirs + "'"));
  EXPECT_THAT(world_.agents.closed(), IsEmpty());

  world_.agents.Disconnect("n1", "replaced by another machine");
  EXPECT_TRUE(Say(900, hello).ok()) << "of a lost node the name is free";
}

TEST_F(AgentsTest, AnEmptyMachineIdDoesNotReplaceALiveSession) {
  world_.ConnectNodes(1);
  EXPECT_EQ(Say(900, Hello("n1")).code(), Code::kAlreadyExists);
  EXPECT_THAT(world_.agents.closed(), IsEmpty());
  world_.agents.Advance(1s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("node_claimed_twice n1"));
  world_.agents.Advance(10min);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(AgentsTest, ClonesDoNotReplaceEachOtherForEver) {
  world_.ConnectNodes(1);
  for (int clone = 0; clone < 4; ++clone) ASSERT_TRUE(world_.agents.Connect(N1()).ok());
  const Status refused = world_.agents.Connect(N1());
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.message(),
              ::testing::HasSubstr("replacements_per_30_s: expected at most 4 sessions, saw 5"));
}

TEST_F(AgentsTest, ABoundThatIsExceededIsAFindingUntilItIsOver) {
  world_.ConnectNodes(2);
  const Excess excess{.bound = &BoundOf("NodeSnapshot.gaps"), .seen = 9000};
  const Status logged =
      world_.controller->OnExcess(world_.agents.SessionOf("n1"), excess, world_.agents.now());
  EXPECT_EQ(logged.message(), "n1: NodeSnapshot.gaps: expected at most 4096 elements, saw 9000");
  world_.agents.Advance(1s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("agent_over_budget n1"));
  ASSERT_EQ(world_.Node("n1").bound_violations_size(), 1);
  EXPECT_EQ(world_.Node("n1").bound_violations(0).bound(), "NodeSnapshot.gaps");
  EXPECT_EQ(world_.Node("n1").bound_violations(0).seen(), 9000u);
  world_.agents.Advance(10min);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  EXPECT_EQ(world_.Node("n1").bound_violations_size(), 1) << "since the start";
}

TEST_F(AgentsTest, ANodeWhoseFirstSnapshotIsRefusedIsListed) {
  ASSERT_TRUE(Say(900, Hello("n9")).ok());
  const Excess excess{.bound = &BoundOf("agent_message_memory"), .seen = 9'000'000};
  (void)world_.controller->OnExcess(SessionId(900), excess, world_.agents.now());
  world_.controller->OnGone(SessionId(900), "refused", world_.agents.now());
  world_.agents.Advance(1s);
  EXPECT_EQ(world_.Node("n9").state(), v1::NODE_STATE_LOST);
  EXPECT_THAT(world_.Node("n9").lost_reason(), ::testing::HasSubstr("agent_message_memory"));
  EXPECT_THAT(world_.OpenFindings(),
              UnorderedElementsAre("agent_over_budget n9", "node_connected n9"));
}

TEST_F(AgentsTest, ChangesDoNotGrowASnapshotWithoutBound) {
  world_.ConnectNodes(1);
  Status status;
  for (int turn = 0; turn < 3 && status.ok(); ++turn) {
    v1::AgentMessage message;
    for (int n = 0; n < 1000; ++n)
      message.mutable_change()->add_rdma_devices()->set_name("x" + std::to_string(turn * 1000 + n));
    status = world_.agents.Say("n1", message);
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("NodeSnapshot.rdma_devices"));
}

TEST_F(AgentsTest, AFlappingPortIsStoredAtMostEveryFiveSeconds) {
  world_.ConnectNodes(1);
  const std::uint32_t before = world_.store->node_writes;
  for (int turn = 0; turn < 100; ++turn) {
    v1::NodeSnapshot node = N1();
    if (turn % 2 == 0) testing::LinkDown(node, 1);
    v1::AgentMessage change;
    *change.mutable_change()->add_rdma_devices() = testing::DeviceOf(node, 1);
    ASSERT_TRUE(world_.agents.Say("n1", change).ok());
    world_.agents.Advance(100ms);
  }
  EXPECT_LE(world_.store->node_writes - before, 3u);
  world_.agents.Disconnect("n1", "end");
  auto stored = world_.store->Nodes();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(testing::PortOf(stored->at(0).snapshot, 1).state(), v1::PORT_STATE_ACTIVE);
}

TEST_F(AgentsTest, AChangeBeforeTheSnapshotAsksForIt) {
  world_.ConnectNodes(1);
  EXPECT_TRUE(Say(900, Hello("n9")).ok());
  v1::AgentMessage change;
  change.mutable_change()->add_removed_rdma_devices("mlx5_0");
  EXPECT_TRUE(Say(900, change).ok());
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(world_.controller->Call(v1::ListNodesRequest(), nodes, world_.agents.now()).ok());
  EXPECT_EQ(nodes.nodes_size(), 1);
}

TEST_F(AgentsTest, ChangesOfPortsAreEvents) {
  world_.ConnectNodes(1);
  world_.log.events.clear();
  v1::NodeSnapshot node = N1();
  testing::LinkDown(node, 1);
  v1::AgentMessage change;
  *change.mutable_change()->add_rdma_devices() = testing::DeviceOf(node, 1);
  ASSERT_TRUE(world_.agents.Say("n1", change).ok());
  EXPECT_THAT(world_.log.Lines(), ElementsAre("port n1/mlx5_1/1 DOWN"));
  world_.agents.Advance(300ms);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("port_active n1/mlx5_1/1"));
  EXPECT_EQ(world_.Node("n1").findings_open(), 1u);
  EXPECT_EQ(world_.Node("n1").ports_active(), 1u);

  world_.log.events.clear();
  ASSERT_TRUE(world_.agents.SendSnapshot(N1()).ok());
  world_.agents.Advance(300ms);
  EXPECT_THAT(world_.log.Lines(),
              ElementsAre("port n1/mlx5_1/1 ACTIVE", "finding n1/mlx5_1/1 resolved"));
}

TEST_F(AgentsTest, TheNameOfTheHelloIsTheKey) {
  ASSERT_TRUE(Say(900, Hello("n7")).ok());
  v1::AgentMessage message;
  *message.mutable_snapshot() = N1();
  ASSERT_TRUE(Say(900, message).ok());
  message.mutable_change()->mutable_rest()->mutable_node()->set_name("n8");
  message.mutable_change()->add_fields("node");
  ASSERT_TRUE(Say(900, message).ok());
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(world_.controller->Call(v1::ListNodesRequest(), nodes, world_.agents.now()).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).name(), "n7");
}

TEST_F(AgentsTest, NonsenseIsBorne) {
  world_.ConnectNodes(2);
  v1::NodeSnapshot node = N1();
  node.mutable_taken_at()->set_seconds(std::numeric_limits<std::int64_t>::max());
  node.mutable_taken_at()->set_nanos(-5);
  testing::PortOf(node, 0).set_number(4'000'000'000);
  testing::PortOf(node, 1).set_state(static_cast<v1::PortState>(99));
  *node.add_rdma_devices() = node.rdma_devices(0);
  node.add_rdma_devices();
  ASSERT_TRUE(world_.agents.SendSnapshot(node).ok());
  v1::AgentMessage message;
  for (const std::uint64_t probe : {0ULL, 1ULL, ~0ULL}) {
    message.mutable_probe_ready()->set_probe_id(probe);
    EXPECT_TRUE(world_.agents.Say("n1", message).ok());
    message.mutable_probe_armed()->set_probe_id(probe);
    EXPECT_TRUE(world_.agents.Say("n1", message).ok());
    message.mutable_probe_outcome()->set_probe_id(probe);
    EXPECT_TRUE(world_.agents.Say("n1", message).ok());
  }
  EXPECT_TRUE(world_.agents.Say("n1", v1::AgentMessage()).ok()) << "of a newer agent";
  world_.agents.Advance(1s);
  v1::ListDevicesResponse devices;
  EXPECT_TRUE(world_.controller->Call(v1::ListDevicesRequest(), devices, world_.agents.now()).ok());
  world_.Restart();
}

TEST_F(AgentsTest, ARestartKnowsNodesAndFindingsAndWaitsForTheFleet) {
  world_.ConnectNodes(3);
  v1::NodeSnapshot faulty = N1();
  testing::LinkDown(faulty, 0);
  ASSERT_TRUE(world_.agents.SendSnapshot(faulty).ok());
  world_.agents.Advance(300ms);
  ASSERT_THAT(world_.OpenFindings(), ElementsAre("port_active n1/mlx5_0/1"));
  world_.Restart();
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_LOST);
  EXPECT_EQ(world_.Node("n1").lost_reason(), "no message since the controller started");
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("port_active n1/mlx5_0/1"));

  world_.log.events.clear();
  ASSERT_TRUE(world_.agents.Connect(N1()).ok());
  world_.agents.Advance(1s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("port_active n1/mlx5_0/1"))
      << "n2 and n3 are still awaited";
  world_.agents.Advance(2s);
  EXPECT_THAT(world_.OpenFindings(),
              UnorderedElementsAre("node_connected n2", "node_connected n3"));
  EXPECT_THAT(world_.log.Lines(), Contains("finding n1/mlx5_0/1 resolved"));
}

TEST_F(AgentsTest, FindingsOfALostNodeStay) {
  world_.ConnectNodes(3);
  v1::NodeSnapshot faulty = N1();
  testing::LinkDown(faulty, 0);
  ASSERT_TRUE(world_.agents.SendSnapshot(faulty).ok());
  world_.agents.Advance(300ms);
  world_.agents.Disconnect("n1", "gone");
  world_.agents.Advance(1s);
  EXPECT_THAT(world_.OpenFindings(),
              UnorderedElementsAre("node_connected n1", "port_active n1/mlx5_0/1"));
  ASSERT_TRUE(world_.agents.Connect(N1()).ok());
  world_.agents.Advance(1s);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

}  // namespace
}  // namespace fabric::control
